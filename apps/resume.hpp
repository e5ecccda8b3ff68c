// --resume: rows that an interrupted run left, and where to go on.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>

#include "apps/rows.hpp"
#include "io/inputs.hpp"

namespace vit::apps {

/// What is there already.
struct EarlierRows {
  std::uint64_t bytes = 0;    ///< of the rows that stay
  std::int64_t rows = 0;      ///< how many these are
  std::int64_t failures = 0;  ///< of them
  /// The one behind them, which is computed once more: it must come out the same.
  std::optional<Row> last;
};

/// Reads JSON lines that an earlier run wrote to `file` and takes their inputs out of `inputs`, all but that
/// of the last row; each goes to `skipped`. A line that was cut off is left out. Throws
/// Error(invalid_argument) if a row is not of the input in its place, or is no row.
EarlierRows skip_earlier_rows(const std::filesystem::path& file, io::InputSource& inputs,
                              const std::function<void(const io::Input&)>& skipped = [](const io::Input&) {});

/// Throws Error(invalid_argument), naming `file`, unless the two are about the same input and say the same,
/// up to the last digits of the scores.
void require_same(const Row& earlier, const Row& now, const std::filesystem::path& file);

}  // namespace vit::apps
