// vitrine info: what was resolved from a checkpoint, and why.
#pragma once

#include <string>

#include "apps/common.hpp"

namespace vit::apps {

struct InfoOptions {
  CommonOptions common;
  std::string format = "text";
};

void add_info(CLI::App& app, int& result);
/// Returns kOk.
int run_info(const InfoOptions& options);

}  // namespace vit::apps
