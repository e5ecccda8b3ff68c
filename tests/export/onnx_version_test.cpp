#include "export/onnx_version.hpp"

#include <gmock/gmock.h>

namespace vit::exporter {
namespace {

TEST(OnnxVersion, LibraryIsAtLeastWhatTheExporterNeeds) {
  const OnnxLibrary library = onnx_library();
  EXPECT_GE(library.ir_version, 8);
  EXPECT_GE(library.opset, 17) << "LayerNormalization is an operator since opset 17";
}

TEST(OnnxVersion, TextSaysAllThree) {
  EXPECT_THAT(onnx_library_version(),
              testing::MatchesRegex(R"(ONNX [0-9]+\.[0-9]+\.[0-9]+ \(IR [0-9]+, opset [0-9]+\))"));
}

TEST(OnnxVersion, ProtobufHasOneToo) {
  EXPECT_THAT(protobuf_version(), testing::MatchesRegex(R"([0-9]+\.[0-9]+(\.[0-9]+)?)"));
}

}  // namespace
}  // namespace vit::exporter
