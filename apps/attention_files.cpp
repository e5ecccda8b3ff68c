#include "apps/attention_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "apps/common.hpp"
#include "io/contact_sheet.hpp"
#include "vit/error.hpp"

namespace vit::apps {
namespace {

constexpr std::int64_t kTileSide = 224;  // pixels of a picture on a sheet

AttentionChoice all_of(std::int64_t count) {
  AttentionChoice choice{std::vector<std::int64_t>(static_cast<std::size_t>(count)), true};
  std::iota(choice.indices.begin(), choice.indices.end(), 0);
  return choice;
}

/// A number below `count`. `what` is "block" or "head".
AttentionChoice parse_index(const std::string& text, const std::string& what, std::int64_t count,
                            std::string_view words) {
  const auto index = parse_number(text);
  if (!index || *index < 0 || *index >= count) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("--{} {}: expected {} or a number; this model has {}s 0 to {}", what, text, words,
                            what, count - 1));
  }
  return {{*index}, false};
}

AttentionChoice parse_blocks(const std::string& text, const ModelConfig& config) {
  if (text == "all") return all_of(config.num_layers);
  if (text == "last") return {{config.num_layers - 1}, false};
  return parse_index(text, "block", config.num_layers, "all, last");
}

AttentionChoice parse_heads(const std::string& text, const ModelConfig& config) {
  if (text == "all") return all_of(config.num_heads);
  if (text == "mean") return {};
  return parse_index(text, "head", config.num_heads, "all, mean");
}

/// "block07", with as many digits as the last of `count` has, so that names sort; "blocks" for all.
std::string label(const std::string& what, const AttentionChoice& choice, std::int64_t count) {
  if (choice.all) return what + "s";
  if (choice.indices.empty()) return "mean";
  const std::size_t digits = std::to_string(count - 1).size();
  return fmt::format("{}{:0{}}", what, choice.indices.front(), digits);
}

std::string suffix(const AttentionFile& file, const ModelConfig& config) {
  const char* const extension = file.kind == AttentionFileKind::array ? "npy" : "png";
  if (file.rollout) return fmt::format("rollout.{}", extension);
  return fmt::format("{}.{}.{}", label("block", file.blocks, config.num_layers),
                     label("head", file.heads, config.num_heads), extension);
}

/// One choice for each index of `choice`, or itself if it is a mean.
std::vector<AttentionChoice> each(const AttentionChoice& choice) {
  if (choice.indices.empty()) return {choice};
  std::vector<AttentionChoice> single;
  for (const std::int64_t index : choice.indices) single.push_back({{index}, false});
  return single;
}

/// A copy of one map.
Tensor map_of(const io::AttentionMaps& maps, std::int64_t block, const std::vector<std::int64_t>& heads) {
  if (heads.empty()) return maps.mean(block);
  const ConstTensorView head = maps.head(block, heads.front());
  Tensor copy(head.shape);
  std::copy_n(head.data, head.size(), copy.data());
  return copy;
}

std::string sheet_title(const AttentionFile& file, bool class_token) {
  std::string title = class_token ? "What the class token looks at" : "What the patches look at, on average";
  if (!file.blocks.all) title += fmt::format(", block {}", file.blocks.indices.front());
  if (file.heads.indices.empty()) title += ", mean of the heads";
  if (!file.heads.all && !file.heads.indices.empty())
    title += fmt::format(", head {}", file.heads.indices.front());
  return title;
}

/// The maps of a sheet side by side, behind the picture itself.
class SheetPainter {
 public:
  SheetPainter(const io::AttentionView& view, const io::OverlayOptions& options)
      : picture_(io::thumbnail(view.picture, kTileSide)),
        placement_(io::rescaled(view.placement, {view.picture.height, view.picture.width},
                                {picture_.height, picture_.width})),
        options_(options) {
    io::Image upright = picture_;
    io::turn_upright(upright);
    tiles_.push_back({std::move(upright), "picture"});
  }

  void add(const ConstTensorView& map, const std::string& name) {
    io::Image tile = io::draw_overlay(picture_, map, placement_, options_);
    io::turn_upright(tile);
    const float most = *std::max_element(map.data, map.data + map.size());
    tiles_.push_back({std::move(tile), fmt::format("{}, max {:.2g}", name, most)});
  }

  io::Image finish(const std::string& title) const { return io::contact_sheet(tiles_, title); }

 private:
  io::Image picture_;
  io::MapPlacement placement_;
  io::OverlayOptions options_;
  std::vector<io::SheetTile> tiles_;
};

io::Image draw_sheet(const AttentionFile& file, const io::AttentionView& view,
                     const io::OverlayOptions& options) {
  SheetPainter sheet(view, options);
  if (file.heads.all) {
    const std::int64_t block = file.blocks.indices.front();
    for (const std::int64_t head : file.heads.indices)
      sheet.add(view.maps.head(block, head), fmt::format("head {}", head));
    sheet.add(view.maps.mean(block).view(), "mean");
  } else {
    for (const std::int64_t block : file.blocks.indices)
      sheet.add(map_of(view.maps, block, file.heads.indices).view(), fmt::format("block {}", block));
  }
  return sheet.finish(sheet_title(file, view.maps.class_token));
}

}  // namespace

std::vector<AttentionFile> plan_files(const AttentionRequest& request, const ModelConfig& config) {
  AttentionFile all{.rollout = request.rollout};
  if (!request.rollout) {
    all.blocks = parse_blocks(request.block, config);
    const bool heads_of_a_block = request.sheet && !all.blocks.all;
    all.heads = parse_heads(!request.head.empty() ? request.head : heads_of_a_block ? "all" : "mean", config);
  }
  std::vector<AttentionFile> files;
  const auto add = [&](AttentionFile file, AttentionFileKind kind) {
    file.kind = kind;
    file.suffix = suffix(file, config);
    files.push_back(std::move(file));
  };
  if (request.png && request.rollout) {
    add(all, AttentionFileKind::overlay);
  } else if (request.png && request.sheet && !all.heads.all) {
    add(all, AttentionFileKind::sheet);
  } else if (request.png) {
    for (const AttentionChoice& block : each(all.blocks)) {
      if (request.sheet) {
        add({.blocks = block, .heads = all.heads}, AttentionFileKind::sheet);
        continue;
      }
      for (const AttentionChoice& head : each(all.heads))
        add({.blocks = block, .heads = head}, AttentionFileKind::overlay);
    }
  }
  if (request.npy) add(all, AttentionFileKind::array);
  return files;
}

io::Image draw(const AttentionFile& file, const io::AttentionView& view, const io::OverlayOptions& options) {
  if (file.kind == AttentionFileKind::sheet) return draw_sheet(file, view, options);
  const Tensor map = gather(file, view.maps);
  io::Image overlay = io::draw_overlay(view.picture, map.view(), view.placement, options);
  io::turn_upright(overlay);
  return overlay;
}

Tensor gather(const AttentionFile& file, const io::AttentionMaps& maps) {
  if (file.rollout) return maps.rollout.clone();
  Shape shape;
  if (file.blocks.all) shape.push_back(std::ssize(file.blocks.indices));
  if (file.heads.all) shape.push_back(std::ssize(file.heads.indices));
  shape.insert(shape.end(), maps.heads.shape().begin() + 2, maps.heads.shape().end());
  Tensor array(shape);
  float* to = array.data();
  for (const std::int64_t block : file.blocks.indices) {
    for (const AttentionChoice& head : each(file.heads)) {
      const Tensor map = map_of(maps, block, head.indices);
      to = std::copy_n(map.data(), map.size(), to);
    }
  }
  return array;
}

}  // namespace vit::apps
