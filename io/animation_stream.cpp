#include "io/animation_stream.hpp"

#include <fmt/format.h>

#include <array>
#include <new>
#include <span>
#include <string_view>
#include <vector>

#include "io/animation.hpp"
#include "io/folder_listing.hpp"
#include "io/image_sniff.hpp"
#include "vit/file.hpp"

namespace vit::io {
namespace internal {

std::unique_ptr<Animation> open_animation(const EncodedImage& encoded) {
  switch (sniff_format(encoded)) {
    case ImageFormat::gif:
      return count_gif_frames(encoded) > 1 ? animate_gif(encoded) : nullptr;
    case ImageFormat::webp:
      return count_webp_frames(encoded) > 1 ? animate_webp(encoded) : nullptr;
    default:
      return nullptr;
  }
}

}  // namespace internal

namespace {

constexpr std::array<std::string_view, 2> kEndings{".gif", ".webp"};

class AnimationStream : public PictureStream {
 public:
  AnimationStream(std::string name, const FrameOptions& options)
      : name_(std::move(name)), options_(options) {}

  std::optional<Input> next() override {
    if (ended_) return std::nullopt;
    try {
      if (!opened_) {
        open();
        if (!animation_) return still();
      }
      return next_frame();
    } catch (const Error& e) {
      return last(e);
    } catch (const std::bad_alloc&) {
      return last(Error(ErrorCode::image_too_large, name_ + ": not enough memory for this picture"));
    }
  }

 private:
  void open() {
    opened_ = true;
    bytes_ = read_file(name_, kMaxPictureBytes, FileErrors::image());
    const auto* data = reinterpret_cast<const std::uint8_t*>(bytes_.data());
    animation_ = internal::open_animation({{data, bytes_.size()}, name_, DecodeOptions().max_pixels});
  }

  Input still() {
    ended_ = true;
    Input input{name_};
    input.bytes = std::move(bytes_);
    return input;
  }

  Input last(const Error& error) {
    ended_ = true;
    return {name_, error};
  }

  std::optional<Input> next_frame() {
    while (animation_->advance()) {
      const FramePosition position{frames_++, animation_->seconds()};
      if (options_.is_over(position)) break;
      if (!options_.takes(position)) continue;
      is_given_ = true;
      Input input{name_, {}, position};
      if (position.number == 0) {
        input.bytes = bytes_;  // so that the recipe has its say about transparency, as without --every
      } else {
        input.image = animation_->picture();
      }
      return input;
    }
    ended_ = true;
    if (is_given_) return std::nullopt;
    throw Error(ErrorCode::no_input,
                fmt::format("{}: no frame is left by --start and --end; {} were read, up to second {:.3f}",
                            name_, frames_, animation_->seconds()));
  }

  std::string name_;
  FrameOptions options_;
  std::vector<std::byte> bytes_;  // outlives animation_
  std::unique_ptr<internal::Animation> animation_;
  std::int64_t frames_ = 0;
  bool is_given_ = false;
  bool opened_ = false;
  bool ended_ = false;
};

}  // namespace

bool has_animation_extension(const std::string& name) {
  return has_extension(name, kEndings);
}

std::unique_ptr<PictureStream> open_animation_stream(const std::string& name, const FrameOptions& options) {
  return std::make_unique<AnimationStream>(name, options);
}

}  // namespace vit::io
