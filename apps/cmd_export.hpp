// vitrine export -o model.onnx: the network as an ONNX graph, verified before it appears.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "apps/common.hpp"

namespace vit::apps {

struct ExportCommandOptions {
  CommonOptions common;
  std::string output;
  std::int64_t opset = 17;
  std::string batch = "dynamic";
  std::string weights = "fp32";
  std::string int8_qdq;  ///< folder of pictures to calibrate with
  std::string input = "float";
  std::vector<std::string> outputs;
  std::string external_data = "auto";
  std::vector<std::string> meta;  ///< key=value
  bool side_files = false;
  bool force = false;
  bool no_verify = false;
  std::string format = "text";
};

void add_export(CLI::App& app, int& result);
/// Returns kOk; everything else is thrown.
int run_export(const ExportCommandOptions& options);

}  // namespace vit::apps
