// vitrine pull ID: a model from the hub into the Hugging Face cache, for -m ID.
#pragma once

#include <string>

#include "apps/common.hpp"

namespace vit::apps {

struct PullOptions {
  std::string id;
  std::string revision;  ///< empty: what the id says
  std::string weights;   ///< empty: the usual file
  bool quiet = false;
};

void add_pull(CLI::App& app, int& result);
/// Returns kOk; everything else is thrown.
int run_pull(const PullOptions& options);

}  // namespace vit::apps
