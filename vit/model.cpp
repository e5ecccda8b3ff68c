#include "vit/model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "vit/attention_positions.hpp"
#include "vit/backend/context.hpp"
#include "vit/backend/precision_support.hpp"
#include "vit/error.hpp"
#include "vit/packed_model.hpp"
#include "vit/parallel.hpp"
#include "vit/precision_check.hpp"
#include "vit/quantised.hpp"

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
  everything.patch_bias = everything.qkv_bias = everything.layer_scale = everything.qk_norm = true;
  everything.proj_bias = everything.mlp_layer_scale = true;
  everything.class_token = everything.pre_norm = everything.embed_norm = true;
  everything.norm = NormKind::layer;
  everything.block = BlockForm::twin;
  everything.attention = AttentionForm::differential;
  everything.rotary = RotaryEmbedding::mixed;
  everything.distillation = Distillation::head;
  everything.position_embedding = PositionEmbedding::all_tokens;
  everything.final_norm = FinalNorm::before_pooling;
  everything.pooling = Pooling::attention;
  everything.attn_norm = everything.mlp_norm = true;
  everything.relative_positions = RelativePositions::both;
  everything.num_registers = everything.pooler_size = everything.num_classes = 1;
  everything.pre_logits_size = 1;
  const auto deny = [&](const TensorSpec& spec, const WeightView& view) {
    if (!view.empty() && !expected.contains(&view)) {
      refuse(fmt::format("tensor {} has shape {}, expected none: by its config the network does without",
                         spec.name, to_string(view.shape)));
    }
  };
  for (const bool key_bias : {true, false}) {  // a bias for all of qkv, or one for q and one for v
    everything.key_bias = key_bias;
    for_each_tensor(everything, weights, deny);
  }
  everything.num_kv_heads = 1;  // q apart from k and v
  everything.num_heads = 2;
  everything.ungrouped_blocks = 0;
  for_each_tensor(everything, weights, deny);
  std::vector<BlockWeights> twins;  // which a config without them would remove
  if (config.block == BlockForm::twin) twins = std::move(weights.twins);
  everything.block = BlockForm::parallel_fused;
  for_each_tensor(everything, weights, deny);
  weights.twins = std::move(twins);
}

float query_factor(const ModelConfig& config) {
  return static_cast<float>(1.0 / std::sqrt(static_cast<double>(config.query_size())));
}

/// 1/√(query size) for the rows of q, 1 for those of k and v. Where q is normed first, its norm has the
/// factor.
std::vector<float> query_scale(const ModelConfig& config) {
  if (config.qk_norm) return {};
  std::vector<float> scale(static_cast<std::size_t>(3 * config.hidden_size), 1.0F);
  std::fill_n(scale.begin(), config.hidden_size, query_factor(config));
  return scale;
}

std::vector<float> layer_scale(const WeightView& gamma) {
  std::vector<float> scale(gamma.empty() ? 0 : static_cast<std::size_t>(gamma.size()));
  if (!gamma.empty()) gamma.copy_to(scale.data());
  return scale;
}

/// The weights of q, k and v with one bias for all, whose middle third is zero where k has none.
backend::PackedLinear pack_qkv(const ModelConfig& config, const BlockWeights& block,
                               const backend::Packing& packing) {
  if (config.key_bias) return {ungrouped_qkv(config, block), packing, query_scale(config)};
  const std::int64_t D = config.hidden_size;
  Tensor bias({3 * D});
  std::fill_n(bias.data(), 3 * D, 0.0F);
  block.q_bias.copy_to(bias.data());
  block.v_bias.copy_to(bias.data() + 2 * D);
  const WeightView view{{3 * D}, {{reinterpret_cast<const std::byte*>(bias.data()), DType::f32, 3 * D}}};
  return {LinearWeights{block.qkv.weight, view}, packing, query_scale(config)};
}

/// Columns of a matrix, copied out of it.
struct Columns {
  WeightView view;
  std::vector<std::byte> data;
};

/// `matrix` [view.shape] of one part: its columns [first, first + count).
Columns columns_of(const WeightView& matrix, std::int64_t first, std::int64_t count) {
  const WeightPart& part = matrix.parts.front();
  const std::int64_t rows = matrix.shape[0];
  const std::int64_t size = size_of(part.dtype);
  Columns columns;
  columns.data.resize(static_cast<std::size_t>(rows * count * size));
  for (std::int64_t row = 0; row < rows; ++row)
    std::copy_n(part.data + (row * matrix.shape[1] + first) * size, count * size,
                columns.data.data() + row * count * size);
  columns.view = {{rows, count}, {{columns.data.data(), part.dtype, rows * count, 0, part.row_scales}}};
  return columns;
}

/// What projects attention's context and what projects the MLP's inner state.
struct OutProjections {
  LinearWeights proj;
  LinearWeights fc2;
  Columns halves[2];        // behind them, where they are halves of one matrix
  QuantisedMatrix rounded;  // behind the halves' scales, which both have in common
};

OutProjections out_projections(const ModelConfig& config, const BlockWeights& block, Precision precision) {
  OutProjections result{block.proj, block.fc2, {}, {}};
  if (config.block != BlockForm::parallel_fused) return result;
  const WeightView& both = block.out_proj.weight;
  Tensor plain;
  WeightPart part{nullptr, DType::f32, both.size()};
  if (precision == Precision::int8) {
    result.rounded = quantise(both);
    part = {reinterpret_cast<const std::byte*>(result.rounded.levels.data()), DType::i8, both.size(), 0,
            result.rounded.scales.data()};
  } else {
    plain = both.to_tensor();
    part.data = reinterpret_cast<const std::byte*>(plain.data());
  }
  const WeightView matrix{both.shape, {part}};
  result.halves[0] = columns_of(matrix, 0, config.hidden_size);
  result.halves[1] = columns_of(matrix, config.hidden_size, config.mlp_size);
  result.proj = {result.halves[0].view, block.out_proj.bias};  // the bias of the sum, once
  result.fc2 = {result.halves[1].view, {}};
  return result;
}

PackedBlock pack_block(const ModelConfig& config, const BlockWeights& block,
                       const WeightView& shared_positions, const backend::Packing& packing) {
  using backend::NormParameters;
  using backend::PackedLinear;
  const OutProjections out = out_projections(config, block, packing.precision);
  // A parallel block has one layer scale for its sum.
  const WeightView& layer_scale2 = config.is_parallel() ? block.layer_scale1 : block.layer_scale2;
  const bool gated = config.mlp == Mlp::gated;
  const std::int64_t F = config.mlp_size;
  PackedBlock packed{.norm1 = NormParameters(block.norm1),
                     .qkv = pack_qkv(config, block, packing),
                     .q_norm = {},
                     .k_norm = {},
                     .lambda = 0,
                     .sub_norm = {},
                     .relative_positions = relative_table(block.relative_positions, shared_positions),
                     .attn_norm = {},
                     .proj = PackedLinear(out.proj, packing, layer_scale(block.layer_scale1)),
                     .norm2 = {},
                     .gate = {},
                     .fc1 = PackedLinear(gated ? block.fc1.rows(F, F) : block.fc1, packing),
                     .mlp_norm = {},
                     .fc2 = PackedLinear(out.fc2, packing, layer_scale(layer_scale2))};
  if (!config.is_parallel()) packed.norm2.emplace(block.norm2);
  if (gated) packed.gate.emplace(block.fc1.rows(0, F), packing);
  if (config.attn_norm) packed.attn_norm.emplace(block.attn_norm);
  if (config.mlp_norm) packed.mlp_norm.emplace(block.mlp_norm);
  if (config.qk_norm) {
    packed.q_norm.emplace(block.q_norm, query_factor(config));
    packed.k_norm.emplace(block.k_norm);
  }
  return packed;
}

/// λ = exp(λq₁ · λk₁) − exp(λq₂ · λk₂) + its initial value (Ye et al. 2024, equation 2), and the norm of the
/// context, scaled by 1 − that value.
void pack_differences(const BlockWeights& block, std::int64_t index, PackedBlock& packed) {
  const double initial = initial_lambda(index);
  const auto exponential = [](const WeightView& q, const WeightView& k) {
    const Tensor left = q.to_tensor();
    const Tensor right = k.to_tensor();
    double sum = 0;
    for (std::int64_t i = 0; i < left.size(); ++i)
      sum += static_cast<double>(left.data()[i]) * static_cast<double>(right.data()[i]);
    return std::exp(sum);
  };
  packed.lambda = static_cast<float>(exponential(block.lambda_q1, block.lambda_k1) -
                                     exponential(block.lambda_q2, block.lambda_k2) + initial);
  packed.sub_norm.emplace(block.sub_norm, static_cast<float>(1 - initial));
}

/// Gives back the pages that a packed block was read from; those of other blocks are still being read.
void release_block(const ModelConfig& config, const Weights& weights, std::int64_t index,
                   BlockWeights& block) {
  if (!weights.release_part) return;
  const auto release = [&](const TensorSpec&, const WeightView& view) {
    for (const WeightPart& part : view.parts)
      weights.release_part({part.data, static_cast<std::size_t>(part.size) * size_of(part.dtype)});
  };
  detail::TensorWalk<decltype(release)>{config, release}.block("", index, block);
}

std::vector<PackedBlock> pack_blocks(const ModelConfig& config, const Weights& weights,
                                     std::vector<BlockWeights>& blocks, const backend::Packing& packing,
                                     int threads) {
  std::vector<std::optional<PackedBlock>> packed(blocks.size());
  parallel_for(std::ssize(blocks), threads, [&](std::int64_t index) {
    const auto i = static_cast<std::size_t>(index);
    packed[i].emplace(pack_block(config, blocks[i], weights.relative_positions, packing));
    if (config.attention == AttentionForm::differential) pack_differences(blocks[i], index, *packed[i]);
    release_block(config, weights, index, blocks[i]);
  });
  std::vector<PackedBlock> result;
  for (std::optional<PackedBlock>& block : packed) result.push_back(std::move(*block));
  return result;
}

/// [prefix tokens, D]
Tensor prefix_tokens(const ModelConfig& config, const Weights& weights) {
  Tensor prefix({config.num_prefix_tokens(), config.hidden_size});
  float* next = prefix.data();
  for (const WeightView* token : {&weights.cls_token, &weights.dist_token, &weights.reg_token}) {
    if (token->empty()) continue;
    token->copy_to(next);
    next += token->size();
  }
  return prefix;
}

/// (latent Wqᵀ + b) / √(head size), summed in double: done once.
Tensor latent_query(const ModelConfig& config, const AttentionPoolWeights& pool) {
  const std::int64_t D = config.hidden_size;
  const Tensor latent = pool.latent.to_tensor();
  const Tensor weight = pool.q.weight.to_tensor();
  const Tensor bias = pool.q.bias.to_tensor();
  Tensor q({D});
  for (std::int64_t i = 0; i < D; ++i) {
    const float* row = weight.data() + i * D;
    auto sum = static_cast<double>(bias.data()[i]);
    for (std::int64_t j = 0; j < D; ++j)
      sum += static_cast<double>(row[j]) * static_cast<double>(latent.data()[j]);
    q.data()[i] = static_cast<float>(sum / std::sqrt(static_cast<double>(D / config.pool_heads())));
  }
  return q;
}

PackedAttentionPool pack_attention_pool(const ModelConfig& config, const AttentionPoolWeights& pool,
                                        const backend::Packing& packing) {
  using backend::PackedLinear;
  backend::Packing one_row = packing;
  one_row.rows = 1;
  return {latent_query(config, pool),       PackedLinear(pool.kv, packing),
          PackedLinear(pool.proj, one_row), backend::NormParameters(pool.norm),
          PackedLinear(pool.fc1, one_row),  PackedLinear(pool.fc2, one_row)};
}

/// Pixels have 8 bits of their own: rounding them to 8 bits once more is for those products only whose rows
/// have a scale that was made for them.
Precision patch_precision(Precision precision) {
  if (precision == Precision::int8 && !backend::has_precision(Precision::bf16)) return Precision::fp32;
  return precision == Precision::int8 ? Precision::bf16 : precision;
}

}  // namespace

Model::Model(const ModelConfig& config, Weights weights, const ModelOptions& options)
    : config_(config), precision_(Precision::fp32) {
  config_.validate();
  check_weights(config_, weights);
  precision_ = options.precision ? *options.precision : stored_precision(config_, weights);
  const int threads = options.threads > 0 ? options.threads : backend::available_threads();
  const backend::ThreadScope one(1);  // whatever is large is packed by several threads of one core each
  const std::int64_t rows = config_.num_tokens(config_.image_size);
  precision_note_ = why_not(precision_, config_, weights);
  if (!precision_note_.empty()) precision_ = Precision::fp32;
  auto memory = std::make_unique<LargeMemoryPool>();
  const backend::Packing packing(rows, precision_, memory.get());
  const backend::Packing one_row(1, Precision::fp32, memory.get());
  const backend::Packing patches(config_.num_patches(config_.image_size), patch_precision(precision_),
                                 memory.get());
  packed_.reset(new Packed{.memory = std::move(memory),
                           .prefix = prefix_tokens(config_, weights),
                           .patch_embed = backend::PackedLinear(weights.patch_embed, patches)});
  if (!weights.pos_embed.empty()) packed_->pos_embed = weights.pos_embed.to_tensor();
  if (config_.embed_norm) packed_->embed_norm.emplace(weights.embed_norm);
  if (config_.pre_norm) packed_->norm_pre.emplace(weights.norm_pre);
  if (!weights.rotary_frequencies.empty())
    packed_->rotary_frequencies = weights.rotary_frequencies.to_tensor();
  packed_->blocks = pack_blocks(config_, weights, weights.blocks, packing, threads);
  packed_->twins = pack_blocks(config_, weights, weights.twins, packing, threads);
  if (config_.final_norm != FinalNorm::none) packed_->norm.emplace(weights.norm);
  if (config_.pooling == Pooling::attention)
    packed_->attn_pool.emplace(
        pack_attention_pool(config_, weights.attn_pool, {rows, Precision::fp32, packing.pool}));
  if (config_.pooler_size > 0) packed_->pooler.emplace(weights.pooler, one_row);
  if (config_.pre_logits_size > 0) packed_->pre_logits.emplace(weights.pre_logits, one_row);
  if (config_.num_classes > 0) packed_->head.emplace(weights.head, one_row);
  if (config_.distillation == Distillation::head) packed_->head_dist.emplace(weights.head_dist, one_row);
}

Model::~Model() = default;

}  // namespace vit
