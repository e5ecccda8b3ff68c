// vitrine evaluate LABELLED: how often a model is right, and where it is not.
#pragma once

#include <string>

#include "apps/bulk_arguments.hpp"
#include "apps/common.hpp"

namespace vit::apps {

struct EvaluateOptions {
  CommonOptions common;
  BulkArguments bulk;
  std::string labelled;
  std::string label_map;
  std::string format;  ///< text or json; empty: by the ending of `output`
  std::string output;
  std::string predictions;  ///< CSV of all pictures; empty: none
  std::string report;       ///< folder; empty: none
  bool force = false;
};

void add_evaluate(CLI::App& app, int& result);
/// Returns kOk, kSomeInputsFailed, or 128 + the signal that stopped it.
int run_evaluate(const EvaluateOptions& options);

}  // namespace vit::apps
