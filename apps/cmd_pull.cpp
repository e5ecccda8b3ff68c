#include "apps/cmd_pull.hpp"

#include <fmt/format.h>

#include <memory>

#include "apps/common.hpp"
#include "apps/download.hpp"
#include "apps/output.hpp"

namespace vit::apps {

void add_pull(CLI::App& app, int& result) {
  auto options = std::make_shared<PullOptions>();
  CLI::App& command = *app.add_subcommand(
      "pull", "download a model from the hub into the Hugging Face cache, and print its folder");
  command.add_option("ID", options->id, "org/name or org/name@revision; then -m takes the same")->required();
  command.add_option("--revision", options->revision, "branch, tag or commit (default: main)");
  command.add_option(
      "--weights", options->weights,
      "the weights file to take (default: model.safetensors or its index, else pytorch_model.bin, "
      "else the only one)");
  command.add_flag("-q,--quiet", options->quiet, "no progress and no notes on stderr; errors remain");
  set_examples(
      command,
      {"vitrine pull google/vit-base-patch16-224", "vitrine classify cat.jpg -m google/vit-base-patch16-224"},
      "Of the repository only the files are fetched that -m needs. What broke off is continued, every file's "
      "checksum is compared.\n"
      "The environment as for Python's huggingface_hub: HF_HOME, HF_HUB_CACHE, HF_TOKEN, HF_ENDPOINT, "
      "HF_HUB_OFFLINE, HF_HUB_DOWNLOAD_TIMEOUT; https_proxy.");
  command.callback([options, &result] { result = run_pull(*options); });
}

int run_pull(const PullOptions& options) {
  io::PullRequest request{io::parse_hub_id(options.id), options.weights};
  if (!options.revision.empty()) {
    if (options.id.find('@') != std::string::npos) {
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("--revision {}: {} names a revision already", options.revision, options.id));
    }
    request.id = io::parse_hub_id(fmt::format("{}@{}", options.id, options.revision));
  }
  Output output({});
  output.write(download(request, options.quiet).string() + '\n');
  output.finish();
  return kOk;
}

}  // namespace vit::apps
