// One row for each input, in the four formats of --format.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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
  std::vector<LabelledPrediction> predictions;
  std::optional<Error> error;
};

/// Turns rows into text. begin(), then row() for each, then end().
class RowFormat {
 public:
  virtual ~RowFormat() = default;
  virtual std::string begin() { return {}; }
  virtual std::string row(const Row& row) = 0;
  virtual std::string end() { return {}; }
};

/// `name` is text, json, jsonl or csv.
std::unique_ptr<RowFormat> make_row_format(std::string_view name);

/// A JSON string with its quotes. Bytes that are not UTF-8 (file names can be anything) become U+FFFD.
std::string json_string(std::string_view text);

/// {"input": …, "error": {"code": …, "message": …}}
std::string json_error_row(std::string_view input, const Error& error);

}  // namespace vit::apps
