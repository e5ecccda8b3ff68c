#include "io/csv.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "io/folder_listing.hpp"
#include "vit/file.hpp"

namespace vit::io {
namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 30;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

/// Field by field through a text.
class CsvReader {
 public:
  CsvReader(std::string_view text, char separator, std::string_view name)
      : text_(text), separator_(separator), name_(name) {
    if (text_.starts_with(kByteOrderMark)) text_.remove_prefix(kByteOrderMark.size());
  }

  bool at_end() const { return position_ == text_.size(); }

  CsvRow row() {
    CsvRow row{line_, {}};
    do row.fields.push_back(at('"') ? quoted_field() : plain_field());
    while (skip(separator_));
    skip('\r');
    if (skip('\n')) ++line_;
    return row;
  }

 private:
  bool at(char c) const { return !at_end() && text_[position_] == c; }

  bool skip(char c) {
    if (!at(c)) return false;
    ++position_;
    return true;
  }

  /// Whether a field may end here.
  bool at_border() const {
    return at_end() || at(separator_) || at('\n') || text_.substr(position_, 2) == "\r\n" ||
           text_.substr(position_) == "\r";
  }

  std::string plain_field() {
    const std::size_t begin = position_;
    while (!at_border()) ++position_;
    return std::string(text_.substr(begin, position_ - begin));
  }

  std::string quoted_field() {
    const std::size_t first_line = line_;
    std::string field;
    ++position_;
    for (;;) {
      if (at_end()) fail(first_line, "a quote is not closed");
      const char c = text_[position_++];
      if (c == '\n') ++line_;
      if (c == '"' && !skip('"')) break;
      field += c;
    }
    if (!at_border()) {
      fail(line_, fmt::format("expected {} or the end of the line behind a closing quote",
                              separator_ == '\t' ? "a tab" : "a comma"));
    }
    return field;
  }

  [[noreturn]] void fail(std::size_t line, std::string_view what) const {
    throw Error(ErrorCode::invalid_argument, fmt::format("{}: line {}: {}", name_, line, what));
  }

  std::string_view text_;
  char separator_;
  std::string_view name_;
  std::size_t position_ = 0;
  std::size_t line_ = 1;
};

}  // namespace

std::vector<CsvRow> parse_csv(std::string_view text, char separator, std::string_view name) {
  std::vector<CsvRow> rows;
  CsvReader reader(text, separator, name);
  while (!reader.at_end()) {
    CsvRow row = reader.row();
    const bool empty = row.fields.size() == 1 && row.fields.front().empty();
    if (!empty) rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<CsvRow> read_csv(const std::string& file) {
  static constexpr std::array<std::string_view, 1> kTabs{".tsv"};
  const std::vector<std::byte> bytes =
      read_file(file, kMostBytes, FileErrors::all(ErrorCode::invalid_argument));
  return parse_csv(as_text(bytes), has_extension(file, kTabs) ? '\t' : ',', file);
}

}  // namespace vit::io
