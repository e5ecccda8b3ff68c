// vitrine attention IMAGE… -o FOLDER: what the network looks at in each picture.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "apps/attention_files.hpp"
#include "apps/common.hpp"

namespace vit::apps {

struct AttentionOptions {
  CommonOptions common;
  InputArguments inputs;
  AttentionRequest request;
  std::vector<std::string> formats;  ///< png, npy; empty: by the ending of `output`, else png
  io::OverlayOptions overlay;
  std::string output;  ///< a folder, or one .png or .npy file
  bool force = false;
};

void add_attention(CLI::App& app, int& result);
/// Returns kOk or kSomeInputsFailed. `list` is what "-" reads.
int run_attention(const AttentionOptions& options, std::istream& list);

}  // namespace vit::apps
