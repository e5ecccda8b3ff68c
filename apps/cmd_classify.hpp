// vitrine classify INPUT…: the best labels of each picture.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>

#include "apps/bulk_arguments.hpp"
#include "apps/common.hpp"
#include "apps/picture_folders.hpp"

namespace vit::apps {

struct ClassifyOptions {
  CommonOptions common;
  InputArguments inputs;
  std::string format;  ///< empty: by the ending of `output`
  std::string output;
  std::int64_t top_k = 5;
  std::optional<float> threshold;
  BulkArguments bulk;
  PictureFolderOptions folders;
  bool resume = false;
};

void add_classify(CLI::App& app, int& result);
/// Returns kOk or kSomeInputsFailed. `list` is what "-" reads.
int run_classify(const ClassifyOptions& options, std::istream& list);

}  // namespace vit::apps
