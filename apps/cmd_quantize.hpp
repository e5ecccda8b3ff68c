// vitrine quantize -o FOLDER: any model that Vitrine loads, with 8-bit weights, a quarter of the size.
#pragma once

#include <string>

#include "apps/common.hpp"

namespace vit::apps {

struct QuantizeOptions {
  CommonOptions common;
  std::string output;
  bool force = false;
};

void add_quantize(CLI::App& app, int& result);
/// Returns kOk; everything else is thrown.
int run_quantize(const QuantizeOptions& options);

}  // namespace vit::apps
