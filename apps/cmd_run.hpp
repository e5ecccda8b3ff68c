// vitrine run --input T.safetensors -o OUT.safetensors: the network alone, on a prepared tensor.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "apps/common.hpp"

namespace vit::apps {

struct RunOptions {
  CommonOptions common;
  std::string input;
  std::string output;
  std::vector<std::string> outputs;  ///< empty: logits, or features of a model without a head
  std::int64_t batch = 8;
};

void add_run(CLI::App& app, int& result);
/// Returns kOk.
int run_run(const RunOptions& options);

}  // namespace vit::apps
