// What the ONNX library that Vitrine is linked with understands. No ONNX header is needed to use this one.
#pragma once

#include <string>

namespace vit::exporter {

struct OnnxLibrary {
  std::string release;  ///< e.g. "1.12.0"
  int ir_version;       ///< newest version of the file format
  int opset;            ///< newest version of the default operator set; what may be exported
};

/// Thread-safe; cheap after the first call, which sets up the library's table of operators.
OnnxLibrary onnx_library();

/// The same as text, as `vitrine --version` prints it: "ONNX 1.12.0 (IR 8, opset 17)".
std::string onnx_library_version();

/// Of the Protobuf that ONNX's messages are compiled for, e.g. "3.21.12".
std::string protobuf_version();

}  // namespace vit::exporter
