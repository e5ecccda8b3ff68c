// vitrine verify A -m B: do two models compute the same?
#pragma once

#include <optional>
#include <string>

#include "apps/common.hpp"

namespace vit::apps {

struct VerifyOptions {
  CommonOptions common;  ///< common.model: B
  std::string model;     ///< A
  InputArguments inputs;
  std::optional<double> tolerance;  ///< of the largest logit; nothing: by the weights of a model.onnx
};

void add_verify(CLI::App& app, int& result);
/// Returns kOk, kSomeInputsFailed or kVerificationFailed.
int run_verify(const VerifyOptions& options);

}  // namespace vit::apps
