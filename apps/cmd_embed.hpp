// vitrine embed INPUT…: the numbers that stand for each picture.
#pragma once

#include <iosfwd>
#include <string>

#include "apps/bulk_arguments.hpp"
#include "apps/common.hpp"
#include "io/embedder.hpp"

namespace vit::apps {

struct EmbedOptions {
  CommonOptions common;
  InputArguments inputs;
  BulkArguments bulk;
  std::string format;  ///< npy, safetensors, jsonl; empty: by the ending of `output`
  std::string output;
  io::EmbeddingPool pool = io::EmbeddingPool::features;
  bool normalize = false;
};

void add_embed(CLI::App& app, int& result);
/// Returns kOk, kSomeInputsFailed, or 128 + the signal that stopped it. `list` is what "-" reads.
int run_embed(const EmbedOptions& options, std::istream& list);

}  // namespace vit::apps
