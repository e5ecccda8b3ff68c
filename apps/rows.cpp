#include "apps/rows.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "apps/terminal.hpp"

namespace vit::apps {
namespace {

std::string json_row(const Row& row) {
  if (row.error) return json_error_row(row.input, row.frame, *row.error);
  std::string text = json_row_begin(row.input, row.frame) + ",\"predictions\":[";
  for (const LabelledPrediction& p : row.predictions) {
    if (&p != row.predictions.data()) text += ',';
    // fmt's shortest form reads back as the same float
    text += fmt::format("{{\"index\":{},\"label\":{},\"score\":{}}}", p.index, json_string(p.label), p.score);
  }
  return text + "]}";
}

class JsonLines : public RowFormat {
  std::string row(const Row& row) override { return json_row(row) + '\n'; }
};

class JsonArray : public RowFormat {
  std::string begin() override { return "["; }
  std::string row(const Row& row) override {
    std::string text = (first_ ? "\n" : ",\n") + json_row(row);
    first_ = false;
    return text;
  }
  std::string end() override { return "\n]\n"; }

  bool first_ = true;
};

/// RFC 4180: quoted where it holds a comma, a quote or a line break.
std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

/// Long form: one line for each prediction; a failed input has one line with its error.
class Csv : public RowFormat {
  std::string begin() override { return "input,rank,index,label,score,error,message,frame,seconds\n"; }
  std::string row(const Row& row) override {
    const std::string input = csv_field(row.input);
    const std::string frame = row.frame ? fmt::format("{},{}", row.frame->number, row.frame->seconds) : ",";
    if (row.error) {
      return fmt::format("{},,,,,{},{},{}\n", input, to_string(row.error->code()),
                         csv_field(row.error->what()), frame);
    }
    std::string text;
    int rank = 0;
    for (const LabelledPrediction& p : row.predictions) {
      text +=
          fmt::format("{},{},{},{},{},,,{}\n", input, ++rank, p.index, csv_field(p.label), p.score, frame);
    }
    if (row.predictions.empty())
      text = input + ",,,,,,," + frame + '\n';  // nothing reaches the threshold: the input has its line
    return text;
  }
};

class Text : public RowFormat {
 public:
  explicit Text(bool coloured) : coloured_(coloured) {}

 private:
  std::string row(const Row& row) override {
    std::string text = styled(row.input, Style::bold, coloured_);
    if (row.frame) text += fmt::format("  frame {}, {:.3f} s", row.frame->number, row.frame->seconds);
    text += '\n';
    if (row.error) {
      const std::string code = fmt::format("error ({})", to_string(row.error->code()));
      return text + fmt::format("  {}: {}\n", styled(code, Style::red, coloured_), row.error->what());
    }
    for (const LabelledPrediction& p : row.predictions) {
      const Style style = &p == row.predictions.data() ? Style::green : Style::dim;
      text += "  " + styled(fmt::format("{:.4f}  {}", p.score, p.label), style, coloured_) + '\n';
    }
    if (row.predictions.empty()) text += "  no label reaches the threshold\n";
    return text;
  }

  bool coloured_;
};

}  // namespace

std::unique_ptr<RowFormat> make_row_format(std::string_view name, bool coloured) {
  if (name == "json") return std::make_unique<JsonArray>();
  if (name == "jsonl") return std::make_unique<JsonLines>();
  if (name == "csv") return std::make_unique<Csv>();
  return std::make_unique<Text>(coloured);
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
