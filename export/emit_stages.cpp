// Stages: what vit/session.cpp runs, in the same order.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "export/vit_emitter.hpp"
#include "vit/position_embed.hpp"

namespace vit::exporter {
namespace {

using Ints = std::vector<std::int64_t>;

Graph empty_graph(const GraphOptions& options, std::int64_t ir_version) {
  Graph graph;
  graph.name = "vit";
  graph.opset = options.opset;
  graph.ir_version = ir_version;
  return graph;
}

/// What is added to the patches behind zeros for the prefix tokens, whose rows hold token + position.
/// [1, T, D]
StoredWeight token_table(const ModelConfig& config, const Weights& weights, Size2 image) {
  const bool learned = config.position_embedding != PositionEmbedding::none;
  const auto table = std::make_shared<Tensor>(
      position_table(config, learned ? weights.pos_embed.to_tensor() : Tensor(), image));
  float* row = table->data();
  for (const WeightView* view : {&weights.cls_token, &weights.dist_token, &weights.reg_token}) {
    if (view->empty()) continue;
    const Tensor tokens = view->to_tensor();
    for (std::int64_t i = 0; i < tokens.size(); ++i) row[i] = tokens.data()[i] + row[i];
    row += tokens.size();
  }
  const Shape shape{1, table->shape()[0], table->shape()[1]};
  const WeightPart part{reinterpret_cast<const std::byte*>(table->data()), DType::f32, table->size()};
  return {{shape, {part}}, table, {}};
}

}  // namespace

VitEmitter::VitEmitter(const ModelConfig& config, const Weights& weights, GraphOptions options,
                       std::int64_t ir_version)
    : config_(config),
      weights_(weights),
      options_(std::move(options)),
      builder_(empty_graph(options_, ir_version)),
      batch_(options_.batch ? Dim(*options_.batch) : Dim("batch")) {}

bool VitEmitter::wants(GraphOutput output) const {
  return std::find(options_.outputs.begin(), options_.outputs.end(), output) != options_.outputs.end();
}

std::string VitEmitter::publish(const std::string& value, GraphOutput output, std::vector<Dim> shape,
                                std::int64_t index) {
  if (!wants(output)) return value;
  return builder_.output(
      value, index < 0 ? std::string(to_string(output)) : fmt::format("{}.{}", to_string(output), index),
      std::move(shape));
}

std::string VitEmitter::pixel_values() {
  const auto [height, width] = options_.image_size;
  const std::int64_t C = config_.num_channels;
  if (!options_.byte_input)
    return builder_.input("pixel_values", ElementType::f32, {batch_, C, height, width});
  const std::string bytes = builder_.input("pixel_values", ElementType::u8, {batch_, height, width, C});
  const std::string planes = builder_.node("/preprocess", "Transpose", {bytes}, {{"perm", Ints{0, 3, 1, 2}}});
  const std::string floats = builder_.node("/preprocess", "Cast", {planes}, {{"to", std::int64_t{1}}});
  const std::string scale = builder_.constant("preprocess.scale", {1, C, 1, 1}, options_.byte_input->scale);
  const std::string offset =
      builder_.constant("preprocess.offset", {1, C, 1, 1}, options_.byte_input->offset);
  return builder_.node("/preprocess", "Add", {builder_.node("/preprocess", "Mul", {floats, scale}), offset});
}

std::string VitEmitter::patch_embed(const std::string& pixel_values) {
  const Ints patch{config_.patch_size.height, config_.patch_size.width};
  const LinearWeights& proj = weights_.patch_embed;
  std::vector<std::string> inputs{pixel_values, table("patch_embed.proj.weight", stored(proj.weight))};
  if (!proj.bias.empty()) inputs.push_back(vector("patch_embed.proj.bias", proj.bias));
  const std::string planes = builder_.node("/patch_embed", "Conv", std::move(inputs),
                                           {{"kernel_shape", patch},
                                            {"strides", patch},
                                            {"pads", Ints{0, 0, 0, 0}},
                                            {"dilations", Ints{1, 1}},
                                            {"group", std::int64_t{1}}});
  // The number of patches rather than −1: with an unknown, a batch of 0 would be an error.
  const std::int64_t N = config_.num_patches(options_.image_size);
  const std::string rows =
      builder_.node("/patch_embed", "Reshape", {planes, builder_.ints({0, config_.hidden_size, N})});
  return builder_.node("/patch_embed", "Transpose", {rows}, {{"perm", Ints{0, 2, 1}}});
}

std::string VitEmitter::embeddings(const std::string& patches) {
  std::string x = config_.embed_norm
                      ? norm("/patch_embed/norm", patches, "patch_embed.norm", weights_.embed_norm)
                      : patches;
  const std::int64_t prefix = config_.num_prefix_tokens();
  if (prefix > 0) {
    // Zeros in front, to which the table adds the tokens: any batch, without asking for its size.
    x = builder_.node("/embeddings", "Pad", {x, builder_.ints({0, prefix, 0, 0, 0, 0})},
                      {{"mode", std::string("constant")}});
  }
  if (prefix > 0 || config_.position_embedding != PositionEmbedding::none) {
    const std::string tokens = table("pos_embed", token_table(config_, weights_, options_.image_size));
    x = builder_.node("/embeddings", "Add", {x, tokens});
  }
  if (config_.pre_norm) x = norm("/norm_pre", x, "norm_pre", weights_.norm_pre);
  return publish(x, GraphOutput::hidden_states, {batch_, num_tokens(), config_.hidden_size}, 0);
}

std::string VitEmitter::final_norm(const std::string& x) {
  const std::vector<Dim> shape{batch_, num_tokens(), config_.hidden_size};
  if (config_.final_norm != FinalNorm::before_pooling) {
    // The last block's output is both; an output has one name.
    if (!wants(GraphOutput::last_hidden_state) || !wants(GraphOutput::hidden_states))
      return publish(x, GraphOutput::last_hidden_state, shape);
    return publish(builder_.node("/norm", "Identity", {x}), GraphOutput::last_hidden_state, shape);
  }
  return publish(norm("/norm", x, "norm", weights_.norm), GraphOutput::last_hidden_state, shape);
}

std::string VitEmitter::token(const std::string& x, std::int64_t index) {
  return builder_.node("/pool", "Gather", {x, builder_.index(index)}, {{"axis", std::int64_t{1}}});
}

/// Those of all tokens that pooling looks at.
std::string VitEmitter::patches(const std::string& x) {
  const std::int64_t prefix = config_.num_unpooled_tokens();
  if (prefix == 0) return x;
  return builder_.node("/pool", "Slice",
                       {x, builder_.ints({prefix}), builder_.ints({num_tokens()}), builder_.ints({1})});
}

std::string VitEmitter::pool(const std::string& x) {
  switch (config_.pooling) {
    case Pooling::cls:
      break;
    case Pooling::mean:
      return mean("/pool", patches(x), 1, false);
    case Pooling::cls_and_mean: {
      const std::string cls = token(x, 0);
      return builder_.node("/pool", "Concat", {cls, mean("/pool", patches(x), 1, false)},
                           {{"axis", std::int64_t{1}}});
    }
    case Pooling::max:
      return largest("/pool", patches(x), 1);
    case Pooling::mean_max: {  // (max + mean) / 2
      const std::string rows = patches(x);
      const std::string sum =
          builder_.node("/pool", "Add", {largest("/pool", rows, 1), mean("/pool", rows, 1, false)});
      return builder_.node("/pool", "Mul", {sum, builder_.scalar("half", 0.5F)});
    }
    case Pooling::attention:
      return attention_pool(patches(x));
  }
  return token(x, 0);
}

/// A learned query over the patches, then an MLP: vit/attention_pool.cpp.
std::string VitEmitter::attention_pool(const std::string& x) {
  const AttentionPoolWeights& pool = weights_.attn_pool;
  const std::int64_t D = config_.hidden_size;
  const std::int64_t heads = config_.pool_heads();
  const std::string module = "/attn_pool";
  // Constants alone, which runtimes compute once. [1, 1, D] -> [1, h, 1, d]
  const std::string query =
      linear(module + "/q", vector("attn_pool.latent", pool.latent), "attn_pool.q", pool.q);
  const std::string q = transpose(module + "/q", split_heads(module + "/q", query, heads), {0, 2, 1, 3});
  const std::string k = linear(module + "/k", x, "attn_pool.k", pool.kv.rows(0, D));
  const std::string kt = transpose(module + "/k", split_heads(module + "/k", k, heads), {0, 2, 3, 1});
  const std::string values = linear(module + "/v", x, "attn_pool.v", pool.kv.rows(D, D));
  const std::string v = transpose(module + "/v", split_heads(module + "/v", values, heads), {0, 2, 1, 3});
  const std::string probs = softmax(module, scaled_scores(module, {q, D / heads}, kt));
  const std::string context = merge_heads(module, builder_.node(module + "/context", "MatMul", {probs, v}));
  const std::string pooled =
      token(linear(module + "/proj", context, "attn_pool.proj", pool.proj), 0);  // [batch, D]
  const std::string normed = norm(module + "/norm", pooled, "attn_pool.norm", pool.norm);
  const std::string hidden =
      activation(module + "/mlp/act", gemm(module + "/mlp/fc1", normed, "attn_pool.mlp.fc1", pool.fc1),
                 config_.activation);
  return builder_.node(module, "Add",
                       {pooled, gemm(module + "/mlp/fc2", hidden, "attn_pool.mlp.fc2", pool.fc2)});
}

std::string VitEmitter::features(const std::string& x) {
  std::string pooled = pool(x);
  if (config_.final_norm == FinalNorm::after_pooling)
    pooled = norm("/fc_norm", pooled, "fc_norm", weights_.norm);
  const bool pooler = config_.pooler_size > 0 && config_.num_classes == 0;  // a head does not read it
  if (pooler) {
    pooled = activation("/pooler/act", gemm("/pooler/dense", pooled, "pooler.dense", weights_.pooler),
                        config_.pooler_activation);
  }
  const std::int64_t size = pooler ? config_.pooler_size : config_.feature_size();
  return publish(pooled, GraphOutput::features, {batch_, size});
}

void VitEmitter::head(const std::string& features, const std::string& x) {
  if (!wants(GraphOutput::logits) && !wants(GraphOutput::probabilities)) return;
  const std::vector<Dim> shape{batch_, config_.num_classes};
  std::string last = features;
  if (config_.pre_logits_size > 0) {
    last = activation("/pre_logits/act", gemm("/pre_logits", features, "pre_logits", weights_.pre_logits),
                      Activation::tanh);
  }
  std::string logits = gemm("/head", last, "head", weights_.head);
  if (config_.distillation == Distillation::head) {  // the mean of both heads
    const std::string other = gemm("/head_dist", token(x, 1), "head_dist", weights_.head_dist);
    const std::string sum = builder_.node("/logits", "Add", {logits, other});
    logits = builder_.node("/logits", "Mul", {sum, builder_.scalar("half", 0.5F)});
  }
  logits = publish(logits, GraphOutput::logits, shape);
  if (!wants(GraphOutput::probabilities)) return;
  const bool softmax = options_.score_function == ScoreFunction::softmax;
  publish(softmax ? builder_.node("/head", "Softmax", {logits}, {{"axis", std::int64_t{-1}}})
                  : builder_.node("/head", "Sigmoid", {logits}),
          GraphOutput::probabilities, shape);
}

Graph VitEmitter::finish() {
  Graph graph = builder_.finish();
  // In the order in which they were asked for, each group in the order of the blocks.
  const auto rank = [&](const ValueInfo& value) {
    const std::string group = value.name.substr(0, value.name.find('.'));
    return std::find_if(options_.outputs.begin(), options_.outputs.end(),
                        [&](GraphOutput o) { return to_string(o) == group; }) -
           options_.outputs.begin();
  };
  std::stable_sort(graph.outputs.begin(), graph.outputs.end(),
                   [&](const ValueInfo& a, const ValueInfo& b) { return rank(a) < rank(b); });
  return graph;
}

}  // namespace vit::exporter
