#include "apps/rows.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "apps/row_formats.hpp"

namespace vit::apps {

template <>
struct RowWords<Row> {
  static constexpr std::string_view kKey = "predictions";
  static constexpr std::string_view kColumns = "index,label,score";
  static constexpr std::string_view kNone = "no label reaches the threshold";

  static const std::vector<LabelledPrediction>& items(const Row& row) { return row.predictions; }
  static std::string json(const LabelledPrediction& p) {
    // fmt's shortest form reads back as the same float
    return fmt::format("\"index\":{},\"label\":{},\"score\":{}", p.index, json_string(p.label), p.score);
  }
  static std::string csv(const LabelledPrediction& p) {
    return fmt::format("{},{},{}", p.index, csv_field(p.label), p.score);
  }
  static std::string text(const LabelledPrediction& p) { return fmt::format("{:.4f}  {}", p.score, p.label); }
};

std::unique_ptr<RowFormat> make_row_format(std::string_view name, bool coloured) {
  return make_format<Row>(name, coloured);
}

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

std::string csv_frame(const std::optional<io::FramePosition>& frame) {
  return frame ? fmt::format("{},{}", frame->number, frame->seconds) : ",";
}

std::string text_frame(const io::FramePosition& frame) {
  return fmt::format("frame {}, {:.3f} s", frame.number, frame.seconds);
}

std::string json_string(std::string_view text) {
  std::string json = nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  // JSON allows them as they are, but many tools take them for the end of the line.
  for (const auto& [character, escape] :
       {std::pair("\u0085", "\\u0085"), std::pair("\u2028", "\\u2028"), std::pair("\u2029", "\\u2029")}) {
    for (std::size_t at = json.find(character); at != std::string::npos; at = json.find(character, at))
      json.replace(at, std::string_view(character).size(), escape);
  }
  return json;
}

std::string json_row_begin(std::string_view input, const std::optional<io::FramePosition>& frame) {
  std::string text = "{\"input\":" + json_string(input);
  if (frame) text += fmt::format(",\"frame\":{},\"seconds\":{}", frame->number, frame->seconds);
  return text;
}

std::string json_error_row(std::string_view input, const std::optional<io::FramePosition>& frame,
                           const Error& error) {
  return fmt::format("{},\"error\":{{\"code\":\"{}\",\"message\":{}}}}}", json_row_begin(input, frame),
                     to_string(error.code()), json_string(error.what()));
}

}  // namespace vit::apps
