// The four formats of rows, whatever the rows are about. Internal to apps/: rows.cpp and its like instantiate
// them.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>

#include "apps/rows.hpp"
#include "apps/terminal.hpp"

namespace vit::apps {

/// To be specialised for each kind of row R, whose items are of type I:
///   kKey                        of the items in JSON
///   kColumns                    of an item in CSV, "index,label,score"
///   kNone                       what text says where there are no items
///   items(const R&)             what it holds, best first
///   json(const I&)              the inside of an object
///   csv(const I&)               a field for each column
///   text(const I&)              a line
template <class R>
struct RowWords;

/// RFC 4180: quoted where it holds a comma, a quote or a line break.
std::string csv_field(std::string_view text);

/// "12,0.48" of a frame; "," of other pictures.
std::string csv_frame(const std::optional<io::FramePosition>& frame);

template <class R>
std::string json_row(const R& row) {
  using Words = RowWords<R>;
  if (row.error) return json_error_row(row.input, row.frame, *row.error);
  std::string text = fmt::format("{},\"{}\":[", json_row_begin(row.input, row.frame), Words::kKey);
  for (const auto& item : Words::items(row)) {
    if (&item != Words::items(row).data()) text += ',';
    text += '{' + Words::json(item) + '}';
  }
  return text + "]}";
}

template <class R>
class JsonLines : public RowFormatOf<R> {
  std::string row(const R& row) override { return json_row(row) + '\n'; }
};

template <class R>
class JsonArray : public RowFormatOf<R> {
  std::string begin() override { return "["; }
  std::string row(const R& row) override {
    std::string text = (first_ ? "\n" : ",\n") + json_row(row);
    first_ = false;
    return text;
  }
  std::string end() override { return "\n]\n"; }

  bool first_ = true;
};

/// Long form: one line for each item; a failed input has one line with its error, one without items one line.
template <class R>
class Csv : public RowFormatOf<R> {
  using Words = RowWords<R>;

  std::string begin() override {
    return fmt::format("input,rank,{},error,message,frame,seconds\n", Words::kColumns);
  }
  std::string row(const R& row) override {
    const std::string input = csv_field(row.input);
    const std::string frame = csv_frame(row.frame);
    const std::string_view columns = Words::kColumns;
    const std::string none(static_cast<std::size_t>(std::count(columns.begin(), columns.end(), ',')), ',');
    if (row.error) {
      return fmt::format("{},,{},{},{},{}\n", input, none, to_string(row.error->code()),
                         csv_field(row.error->what()), frame);
    }
    std::string text;
    int rank = 0;
    for (const auto& item : Words::items(row))
      text += fmt::format("{},{},{},,,{}\n", input, ++rank, Words::csv(item), frame);
    return text.empty() ? fmt::format("{},,{},,,{}\n", input, none, frame) : text;
  }
};

template <class R>
class Text : public RowFormatOf<R> {
 public:
  explicit Text(bool coloured) : coloured_(coloured) {}

 private:
  using Words = RowWords<R>;

  std::string row(const R& row) override {
    std::string text = styled(row.input, Style::bold, coloured_);
    if (row.frame) text += "  " + text_frame(*row.frame);
    text += '\n';
    if (row.error) {
      const std::string code = fmt::format("error ({})", to_string(row.error->code()));
      return text + fmt::format("  {}: {}\n", styled(code, Style::red, coloured_), row.error->what());
    }
    const auto& items = Words::items(row);
    for (const auto& item : items) {
      const Style style = &item == items.data() ? Style::green : Style::dim;
      text += "  " + styled(Words::text(item), style, coloured_) + '\n';
    }
    if (items.empty()) text += fmt::format("  {}\n", Words::kNone);
    return text;
  }

  bool coloured_;
};

template <class R>
std::unique_ptr<RowFormatOf<R>> make_format(std::string_view name, bool coloured) {
  if (name == "json") return std::make_unique<JsonArray<R>>();
  if (name == "jsonl") return std::make_unique<JsonLines<R>>();
  if (name == "csv") return std::make_unique<Csv<R>>();
  return std::make_unique<Text<R>>(coloured);
}

}  // namespace vit::apps
