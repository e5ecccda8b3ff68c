#include "apps/version.hpp"

#include <fmt/format.h>

#include <CLI/Version.hpp>

#include "export/onnx_version.hpp"
#include "git_revision.hpp"  // made by git_revision.cmake
#include "io/library_versions.hpp"
#include "vit/measure.hpp"

namespace vit::apps {
namespace {

#ifdef __clang__
constexpr const char* kCompiler = "Clang " __clang_version__;
#else
constexpr const char* kCompiler = "GCC " __VERSION__;
#endif

}  // namespace

std::string version_text() {
  const std::string revision = VITRINE_GIT_REVISION;
  std::string text =
      fmt::format("vitrine {}{}\noneDNN {} ({})\n{}\nProtobuf {}\n", VITRINE_VERSION,
                  revision.empty() ? "" : " (" + revision + ")", onednn_version(), onednn_isa(),
                  exporter::onnx_library_version(), exporter::protobuf_version());
  for (const io::LibraryVersion& library : io::library_versions())
    text += fmt::format("{} {}\n", library.name, library.version);
  return text + fmt::format("CLI11 {}\ncompiled by {}, {}", CLI11_VERSION, kCompiler, VITRINE_BUILD_TYPE);
}

}  // namespace vit::apps
