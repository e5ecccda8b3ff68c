// What `vitrine attention` makes of a picture: which maps, in which files, and their content.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/attention_image.hpp"
#include "io/attention_maps.hpp"
#include "io/attention_session.hpp"
#include "io/image.hpp"
#include "vit/config.hpp"

namespace vit::apps {

/// Some blocks, or some heads.
struct AttentionChoice {
  std::vector<std::int64_t> indices;  ///< none: the mean of the heads
  bool all = false;                   ///< "all" was said: an axis of its own in an array
};

enum class AttentionFileKind { overlay, sheet, array };

/// A file for each picture: "NAME." + suffix.
struct AttentionFile {
  std::string suffix = {};  ///< "block11.mean.png"
  AttentionFileKind kind = AttentionFileKind::overlay;
  bool rollout = false;  ///< in place of blocks and heads
  AttentionChoice blocks = {};
  AttentionChoice heads = {};
};

/// The options as the user gave them.
struct AttentionRequest {
  std::string block = "last";  ///< a number, all or last
  std::string head = {};       ///< a number, all or mean; empty: all on a sheet of one block, else mean
  bool rollout = false;
  bool sheet = false;
  bool png = true;
  bool npy = false;
};

/// The files of each picture. Throws Error(invalid_argument) that names the option, and what this model has.
std::vector<AttentionFile> plan_files(const AttentionRequest& request, const ModelConfig& config);

/// The content of one of the files that are pictures, upright. Throws Error as draw_overlay and
/// contact_sheet.
io::Image draw(const AttentionFile& file, const io::AttentionView& view, const io::OverlayOptions& options);

/// The content of one that is an array: [L, h, grid height, grid width] without the axes of what is one
/// block, one head or the mean of the heads.
Tensor gather(const AttentionFile& file, const io::AttentionMaps& maps);

}  // namespace vit::apps
