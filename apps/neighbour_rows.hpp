// One row for each picture that others were searched for, in the four formats of --format.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apps/embedding_names.hpp"
#include "apps/rows.hpp"

namespace vit::apps {

struct NamedNeighbour {
  EmbeddedPicture picture;
  float score = 0;
};

/// Neighbours, or an error.
struct NeighbourRow {
  std::string input;
  std::optional<io::FramePosition> frame;
  std::vector<NamedNeighbour> neighbours;
  std::optional<Error> error;
};

/// As make_row_format.
std::unique_ptr<RowFormatOf<NeighbourRow>> make_neighbour_format(std::string_view name,
                                                                 bool coloured = false);

}  // namespace vit::apps
