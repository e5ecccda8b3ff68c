#include "vit/model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "vit/backend/context.hpp"
#include "vit/error.hpp"
#include "vit/packed_model.hpp"

namespace vit {
namespace {

[[noreturn]] void refuse(const std::string& message) {
  throw Error(ErrorCode::weights_invalid, message);
}

/// The loader has checked this against the file; here it protects those who fill Weights themselves.
void check_weights(const ModelConfig& config, Weights& weights) {
  if (std::ssize(weights.blocks) > config.num_layers) {
    refuse(fmt::format("weights of {} blocks, expected {}", weights.blocks.size(), config.num_layers));
  }
  std::set<const WeightView*> expected;
  for_each_tensor(config, weights, [&](const TensorSpec& spec, const WeightView& view) {
    expected.insert(&view);
    if (view.empty()) {
      refuse(fmt::format("tensor {} is missing, expected {}", spec.name, to_string(spec.shape)));
    }
    if (view.shape != spec.shape) {
      refuse(fmt::format("tensor {} has shape {}, expected {}", spec.name, to_string(view.shape),
                         to_string(spec.shape)));
    }
  });
  // What is there must be wanted: packing goes by what it finds.
  ModelConfig everything = config;
  everything.qkv_bias = everything.layer_scale = true;
  everything.pooler_size = everything.num_classes = 1;
  for_each_tensor(everything, weights, [&](const TensorSpec& spec, const WeightView& view) {
    if (!view.empty() && !expected.contains(&view)) {
      refuse(fmt::format("tensor {} has shape {}, expected none: by its config the network does without",
                         spec.name, to_string(view.shape)));
    }
  });
}

/// 1/√d for the rows of q, 1 for those of k and v.
std::vector<float> query_scale(const ModelConfig& config) {
  std::vector<float> scale(static_cast<std::size_t>(3 * config.hidden_size), 1.0F);
  const auto factor = static_cast<float>(1.0 / std::sqrt(static_cast<double>(config.head_size())));
  std::fill_n(scale.begin(), config.hidden_size, factor);
  return scale;
}

std::vector<float> layer_scale(const WeightView& gamma) {
  std::vector<float> scale(gamma.empty() ? 0 : static_cast<std::size_t>(gamma.size()));
  if (!gamma.empty()) gamma.copy_to(scale.data());
  return scale;
}

PackedBlock pack_block(const ModelConfig& config, const BlockWeights& block, std::int64_t rows) {
  using backend::NormParameters;
  using backend::PackedLinear;
  return {NormParameters(block.norm1),
          PackedLinear(block.qkv, rows, query_scale(config)),
          PackedLinear(block.proj, rows, layer_scale(block.layer_scale1)),
          NormParameters(block.norm2),
          PackedLinear(block.fc1, rows),
          PackedLinear(block.fc2, rows, layer_scale(block.layer_scale2))};
}

}  // namespace

Model::Model(const ModelConfig& config, Weights weights) : config_(config) {
  config_.validate();
  check_weights(config_, weights);
  const backend::ThreadScope threads(backend::available_threads());
  const std::int64_t rows = config_.num_tokens(config_.image_size);
  packed_.reset(new Packed{weights.cls_token.to_tensor(),
                           weights.pos_embed.to_tensor(),
                           backend::PatchKernel(weights.patch_embed),
                           {},
                           backend::NormParameters(weights.norm),
                           std::nullopt,
                           std::nullopt});
  for (const BlockWeights& block : weights.blocks) {
    packed_->blocks.push_back(pack_block(config_, block, rows));
    if (weights.release_pages) weights.release_pages();
  }
  if (config_.pooler_size > 0) packed_->pooler.emplace(weights.pooler, 1);
  if (config_.num_classes > 0) packed_->head.emplace(weights.head, 1);
}

Model::~Model() = default;

}  // namespace vit
