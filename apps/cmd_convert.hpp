// vitrine convert -o FOLDER: any model that Vitrine loads, as a folder that transformers or timm opens.
#pragma once

#include <string>

#include "apps/common.hpp"

namespace vit::apps {

struct ConvertOptions {
  CommonOptions common;
  std::string output;
  std::string dtype;        ///< fp32, fp16 or bf16; empty: as stored
  std::string to = "auto";  ///< auto or transformers
  bool force = false;
};

void add_convert(CLI::App& app, int& result);
/// Returns kOk; everything else is thrown.
int run_convert(const ConvertOptions& options);

}  // namespace vit::apps
