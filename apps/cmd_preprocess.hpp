// vitrine preprocess INPUT… -o FILE: the exact network input of each picture.
#pragma once

#include <iosfwd>
#include <string>

#include "apps/common.hpp"

namespace vit::apps {

struct PreprocessOptions {
  CommonOptions common;
  InputArguments inputs;
  std::string output;
};

void add_preprocess(CLI::App& app, int& result);
/// Returns kOk or kSomeInputsFailed.
int run_preprocess(const PreprocessOptions& options, std::istream& list);

}  // namespace vit::apps
