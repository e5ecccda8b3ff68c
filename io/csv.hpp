// Tables of text with commas or tabs between the fields (RFC 4180).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace vit::io {

struct CsvRow {
  std::size_t line = 0;  ///< where it begins, from 1
  std::vector<std::string> fields;
};

/// All rows but empty lines. Fields may be quoted, "" is a quote in such a field; lines end in LF or CRLF; a
/// byte order mark at the start is skipped. `name` begins the messages. Throws Error(invalid_argument): a
/// quote that is not closed, something between a closing quote and the next separator.
std::vector<CsvRow> parse_csv(std::string_view text, char separator, std::string_view name);

/// A file of them, whose separator is a tab if its name ends in .tsv. Throws also what read_file throws, as
/// invalid_argument.
std::vector<CsvRow> read_csv(const std::string& file);

}  // namespace vit::io
