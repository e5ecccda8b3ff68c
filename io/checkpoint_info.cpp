// What a checkpoint is good for, and what people are told about it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "io/checkpoint.hpp"

namespace vit::io {
namespace {

std::string list_of(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 10;
  const auto shown = std::span(names).first(std::min(names.size(), kShown));
  return fmt::format("{}{}", fmt::join(shown, ", "),
                     names.size() > kShown ? fmt::format(", … ({} of them)", names.size()) : "");
}

std::string describe_output(const CheckpointInfo& info) {
  const ModelConfig& config = info.config;
  if (config.num_classes > 0) {
    return fmt::format("{} classes ({} with a name), {}, head on {}", config.num_classes, info.labels.named(),
                       to_string(info.score_function), to_string(config.pooling));
  }
  if (config.pooler_size > 0) {
    return fmt::format("features of the pooler, {} wide ({})", config.pooler_size,
                       to_string(config.pooler_activation));
  }
  return fmt::format("features, {} wide ({})", config.feature_size(), to_string(config.pooling));
}

}  // namespace

void require_pictures(const CheckpointInfo& info) {
  const std::string path = info.path.string();
  if (info.config.num_channels != 3) {
    throw Error(ErrorCode::model_unsupported,
                fmt::format("{}: this model takes {} channels, pictures are read as RGB (3 channels)", path,
                            info.config.num_channels));
  }
  if (!info.recipe)
    throw info.recipe_error.value_or(Error(ErrorCode::internal, path + ": no picture recipe"));
}

void require_classifier(const CheckpointInfo& info) {
  if (info.config.num_classes == 0) {
    throw Error(ErrorCode::model_unsupported,
                fmt::format("{}: this model ({}) has no classification head, so it cannot name what is in a "
                            "picture; vitrine preprocess and vitrine run give its features",
                            info.path.string(), info.architecture.empty() ? info.family : info.architecture));
  }
  require_pictures(info);
}

std::string describe(const CheckpointInfo& info) {
  std::string text;
  const auto line = [&](std::string_view key, std::string_view value) {
    if (!value.empty()) text += fmt::format("{}{}: {}", text.empty() ? "" : "\n", key, value);
  };
  std::vector<std::string> files;
  for (const auto& file : info.weight_files) files.push_back(file.filename().string());
  line("model", info.path.string());
  line("family",
       info.architecture.empty() ? info.family : fmt::format("{} ({})", info.family, info.architecture));
  line("weights", fmt::format("{}, {}, {} parameters", list_of(files), info.stored_dtype, info.parameters));
  line("output", describe_output(info));
  line("pictures", info.recipe ? describe(*info.recipe) : info.recipe_error ? info.recipe_error->what() : "");
  for (const ResolvedValue& value : info.resolved)
    line(value.key, fmt::format("{} [{}]", value.value, value.source));
  line("tensors not used by this family", list_of(info.ignored));
  line("tensors outside the network", list_of(info.unmatched));
  for (const std::string& note : info.notes) line("note", note);
  return text;
}

}  // namespace vit::io
