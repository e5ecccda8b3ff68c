#include "apps/neighbour_rows.hpp"

#include <fmt/format.h>

#include "apps/row_formats.hpp"

namespace vit::apps {

template <>
struct RowWords<NeighbourRow> {
  static constexpr std::string_view kKey = "neighbours";
  static constexpr std::string_view kColumns = "neighbour,neighbour_frame,neighbour_seconds,score";
  static constexpr std::string_view kNone = "there is nothing to find";

  static const std::vector<NamedNeighbour>& items(const NeighbourRow& row) { return row.neighbours; }
  static std::string json(const NamedNeighbour& n) {
    return fmt::format("{},\"score\":{}", json_row_begin(n.picture.input, n.picture.frame).substr(1),
                       n.score);
  }
  static std::string csv(const NamedNeighbour& n) {
    return fmt::format("{},{},{}", csv_field(n.picture.input), csv_frame(n.picture.frame), n.score);
  }
  static std::string text(const NamedNeighbour& n) {
    const std::string frame = n.picture.frame ? "  " + text_frame(*n.picture.frame) : "";
    return fmt::format("{:.4f}  {}{}", n.score, n.picture.input, frame);
  }
};

std::unique_ptr<RowFormatOf<NeighbourRow>> make_neighbour_format(std::string_view name, bool coloured) {
  return make_format<NeighbourRow>(name, coloured);
}

}  // namespace vit::apps
