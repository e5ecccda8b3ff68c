#include "io/video_decoder.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <filesystem>
#include <system_error>
#include <vector>

#include "vit/error.hpp"

namespace vit::io {
namespace fs = std::filesystem;
namespace {

constexpr const char* kModule = "vitrine_video.so";

/// Beside the program or library that this code is part of, where an installation has it, or where it was
/// built.
std::vector<fs::path> module_paths() {
  std::vector<fs::path> paths;
  Dl_info self{};
  if (dladdr(reinterpret_cast<const void*>(&decode_video), &self) != 0 && self.dli_fname != nullptr) {
    std::error_code ignored;
    const fs::path folder = fs::weakly_canonical(self.dli_fname, ignored).parent_path();
    paths.push_back(folder / kModule);
    paths.push_back(folder / "vitrine" / kModule);
    paths.push_back(folder.parent_path() / "lib" / "vitrine" / kModule);
  }
  paths.emplace_back(VITRINE_VIDEO_MODULE);
  return paths;
}

/// Loaded at the first video, and for good.
class Module {
 public:
  Module() {
    for (const fs::path& path : module_paths()) {
      std::error_code ignored;
      if (!fs::exists(path, ignored)) continue;
      handle_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
      if (handle_ != nullptr) return;
      problem_ = dlerror();
    }
  }

  template <class Function>
  Function* find(const char* name) const {
    auto* const found = handle_ == nullptr ? nullptr : reinterpret_cast<Function*>(dlsym(handle_, name));
    if (found == nullptr) {
      throw Error(ErrorCode::image_unsupported,
                  fmt::format("videos and cameras need {}, which is not installed with this Vitrine{}",
                              kModule, problem_.empty() ? "" : ": " + problem_));
    }
    return found;
  }

 private:
  void* handle_ = nullptr;
  std::string problem_;
};

const Module& module() {
  static const Module loaded;
  return loaded;
}

}  // namespace

std::unique_ptr<VideoDecoder> decode_video(const std::string& path) {
  // An absolute path is never taken for a URL.
  const std::string absolute = fs::absolute(path).native();
  return std::unique_ptr<VideoDecoder>(
      module().find<VitrineDecodeVideo>("vitrine_decode_video")(absolute.c_str()));
}

std::unique_ptr<VideoDecoder> decode_camera(int number) {
  return std::unique_ptr<VideoDecoder>(module().find<VitrineDecodeCamera>("vitrine_decode_camera")(number));
}

}  // namespace vit::io
