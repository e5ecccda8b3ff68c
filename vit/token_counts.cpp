#include "vit/token_counts.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "vit/error.hpp"

namespace vit {
namespace {

/// Empty where tokens can be merged.
std::string_view why_not(const ModelConfig& config) {
  if (config.rotary != RotaryEmbedding::none)
    return "its rotary positions belong to single patches, a merged token has no row and column";
  if (config.relative_positions != RelativePositions::none)
    return "its relative positions belong to single patches, a merged token has no row and column";
  if (config.attention == AttentionForm::differential)
    return "differential attention has two maps of keys, which may not agree on what is alike";
  if (config.is_parallel()) return "its blocks run attention and MLP at once, there is no place between them";
  if (config.block == BlockForm::twin)
    return "its blocks have two attentions, which may not agree on what is alike";
  return {};
}

}  // namespace

void validate_merge(const ModelConfig& config, std::int64_t merge) {
  if (merge < 0) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{} tokens cannot be merged in every block, expected 0 or more", merge));
  }
  if (merge == 0) return;
  if (const std::string_view why = why_not(config); !why.empty()) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("the tokens of this network cannot be merged: {}", why));
  }
}

std::vector<std::int64_t> token_counts(const ModelConfig& config, Size2 image, std::int64_t merge) {
  std::vector<std::int64_t> counts{config.num_tokens(image)};
  for (std::int64_t i = 0; i < config.num_layers; ++i) {
    const std::int64_t patches = counts.back() - config.num_prefix_tokens();
    counts.push_back(counts.back() - std::min(merge, patches / 2));
  }
  return counts;
}

}  // namespace vit
