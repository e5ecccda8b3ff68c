#include "export/onnx_version.hpp"

#include <fmt/format.h>
#include <google/protobuf/stubs/common.h>
#include <onnx/common/version.h>
#include <onnx/defs/schema.h>
#include <onnx/onnx_pb.h>

namespace vit::exporter {

OnnxLibrary onnx_library() {
  // Domain -> (oldest, newest) version of its operators, as compiled into the library that is linked.
  const auto& ranges = onnx::OpSchemaRegistry::DomainToVersionRange::Instance().Map();
  return {onnx::LAST_RELEASE_VERSION, static_cast<int>(onnx::Version::IR_VERSION),
          ranges.at(onnx::ONNX_DOMAIN).second};
}

std::string onnx_library_version() {
  const OnnxLibrary library = onnx_library();
  return fmt::format("ONNX {} (IR {}, opset {})", library.release, library.ir_version, library.opset);
}

std::string protobuf_version() {
  return google::protobuf::internal::VersionString(GOOGLE_PROTOBUF_VERSION);
}

}  // namespace vit::exporter
