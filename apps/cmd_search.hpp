// vitrine search INPUT… --in x.npy: the nearest of the pictures that vitrine embed has seen.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>

#include "apps/bulk_arguments.hpp"
#include "apps/common.hpp"

namespace vit::apps {

struct SearchOptions {
  CommonOptions common;  ///< without a model: that of the file
  InputArguments inputs;
  BulkArguments bulk;
  std::string in;      ///< .npy or .safetensors, with its names beside it
  std::string format;  ///< empty: by the ending of `output`
  std::string output;
  std::int64_t neighbours = 10;
};

void add_search(CLI::App& app, int& result);
/// Returns kOk, kSomeInputsFailed, or 128 + the signal that stopped it. `list` is what "-" reads.
int run_search(const SearchOptions& options, std::istream& list);

}  // namespace vit::apps
