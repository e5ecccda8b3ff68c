#include "apps/rows.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace vit::apps {
namespace {

std::string json_row(const Row& row) {
  if (row.error) return json_error_row(row.input, *row.error);
  std::string text = fmt::format("{{\"input\":{},\"predictions\":[", json_string(row.input));
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
  std::string begin() override { return "input,rank,index,label,score,error,message\n"; }
  std::string row(const Row& row) override {
    const std::string input = csv_field(row.input);
    if (row.error) {
      return fmt::format("{},,,,,{},{}\n", input, to_string(row.error->code()), csv_field(row.error->what()));
    }
    std::string text;
    int rank = 0;
    for (const LabelledPrediction& p : row.predictions) {
      text += fmt::format("{},{},{},{},{},,\n", input, ++rank, p.index, csv_field(p.label), p.score);
    }
    if (row.predictions.empty())
      text = input + ",,,,,,\n";  // nothing reaches the threshold: the input has its line
    return text;
  }
};

class Text : public RowFormat {
  std::string row(const Row& row) override {
    if (row.error)
      return fmt::format("{}\n  error ({}): {}\n", row.input, to_string(row.error->code()),
                         row.error->what());
    std::string text = row.input + '\n';
    for (const LabelledPrediction& p : row.predictions)
      text += fmt::format("  {:.4f}  {}\n", p.score, p.label);
    if (row.predictions.empty()) text += "  no label reaches the threshold\n";
    return text;
  }
};

}  // namespace

std::unique_ptr<RowFormat> make_row_format(std::string_view name) {
  if (name == "json") return std::make_unique<JsonArray>();
  if (name == "jsonl") return std::make_unique<JsonLines>();
  if (name == "csv") return std::make_unique<Csv>();
  return std::make_unique<Text>();
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

std::string json_error_row(std::string_view input, const Error& error) {
  return fmt::format("{{\"input\":{},\"error\":{{\"code\":\"{}\",\"message\":{}}}}}", json_string(input),
                     to_string(error.code()), json_string(error.what()));
}

}  // namespace vit::apps
