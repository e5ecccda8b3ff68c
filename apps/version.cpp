#include "apps/version.hpp"

#include <fmt/format.h>

#include "export/onnx_version.hpp"
#include "vit/measure.hpp"

namespace vit::apps {

std::string version_text() {
  return fmt::format("vitrine {}\noneDNN {} ({})\n{}", VITRINE_VERSION, onednn_version(), onednn_isa(),
                     exporter::onnx_library_version());
}

}  // namespace vit::apps
