// One row for each input, in the four formats of --format.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/input.hpp"
#include "vit/error.hpp"

namespace vit::apps {

struct LabelledPrediction {
  std::int64_t index = 0;
  std::string label;
  float score = 0;
};

/// Predictions, or an error.
struct Row {
  std::string input;
  std::optional<io::FramePosition> frame;
  std::vector<LabelledPrediction> predictions;
  std::optional<Error> error;
};

/// Turns rows of one kind into text. begin(), then row() for each, then end().
template <class R>
class RowFormatOf {
 public:
  virtual ~RowFormatOf() = default;
  virtual std::string begin() { return {}; }
  virtual std::string row(const R& row) = 0;
  virtual std::string end() { return {}; }
};

using RowFormat = RowFormatOf<Row>;

/// `name` is text, json, jsonl or csv. `coloured`: of text, what matters stands out on a terminal.
std::unique_ptr<RowFormat> make_row_format(std::string_view name, bool coloured = false);

/// "frame 12, 0.480 s", for people.
std::string text_frame(const io::FramePosition& frame);

/// A JSON string with its quotes. Bytes that are not UTF-8 (file names can be anything) become U+FFFD.
std::string json_string(std::string_view text);

/// {"input": …, and of a frame "frame": …, "seconds": …; to be continued.
std::string json_row_begin(std::string_view input, const std::optional<io::FramePosition>& frame);

/// {"input": …, "error": {"code": …, "message": …}}
std::string json_error_row(std::string_view input, const std::optional<io::FramePosition>& frame,
                           const Error& error);

}  // namespace vit::apps
