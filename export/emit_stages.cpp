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

/// What is added to the patches behind zeros for the prefix tokens: the class token's row holds token +
/// position. [1, T, D]
StoredWeight token_table(const ModelConfig& config, const Weights& weights, Size2 image) {
  const auto table = std::make_shared<Tensor>(position_table(config, weights.pos_embed.to_tensor(), image));
  const Tensor cls_token = weights.cls_token.to_tensor();
  for (std::int64_t d = 0; d < config.hidden_size; ++d) table->data()[d] += cls_token.data()[d];
  const Shape shape{1, table->shape()[0], table->shape()[1]};
  return {
      {shape, {{reinterpret_cast<const std::byte*>(table->data()), DType::f32, table->size()}}}, table, {}};
}

/// Rows of q, k or v of the fused projection.
LinearWeights part_of(const LinearWeights& qkv, std::int64_t begin, std::int64_t count) {
  return {qkv.weight.rows(begin, count), qkv.bias.empty() ? WeightView{} : qkv.bias.rows(begin, count)};
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
  // Zeros in front, to which the table adds the class token: any batch, without asking for its size.
  const std::string room = builder_.node(
      "/embeddings", "Pad", {patches, builder_.ints({0, config_.num_prefix_tokens(), 0, 0, 0, 0})},
      {{"mode", std::string("constant")}});
  const std::string tokens = table("pos_embed", token_table(config_, weights_, options_.image_size));
  return publish(builder_.node("/embeddings", "Add", {room, tokens}), GraphOutput::hidden_states,
                 {batch_, num_tokens(), config_.hidden_size}, 0);
}

std::string VitEmitter::block(std::int64_t index, const std::string& x) {
  const BlockWeights& weights = weights_.blocks[static_cast<std::size_t>(index)];
  const std::string name = fmt::format("blocks.{}", index);
  const std::string module = "/" + name;
  const std::string normed1 = layer_norm(module + "/norm1", x, name + ".norm1", weights.norm1);
  const std::string attended = attention(name, normed1, index);
  const std::string y = add_branch(module + "/ls1", x, attended, name + ".ls1.gamma", weights.layer_scale1);
  const std::string normed2 = layer_norm(module + "/norm2", y, name + ".norm2", weights.norm2);
  const std::string out =
      add_branch(module + "/ls2", y, mlp(name, normed2, weights), name + ".ls2.gamma", weights.layer_scale2);
  return publish(out, GraphOutput::hidden_states, {batch_, num_tokens(), config_.hidden_size}, index + 1);
}

/// x + γ branch
std::string VitEmitter::add_branch(const std::string& module, const std::string& x, const std::string& branch,
                                   const std::string& gamma_name, const WeightView& gamma) {
  const std::string scaled =
      gamma.empty() ? branch : builder_.node(module, "Mul", {branch, vector(gamma_name, gamma)});
  return builder_.node(module, "Add", {x, scaled});
}

std::string VitEmitter::attention(const std::string& name, const std::string& x, std::int64_t index) {
  const BlockWeights& weights = weights_.blocks[static_cast<std::size_t>(index)];
  const std::string module = "/" + name + "/attn";
  const std::int64_t D = config_.hidden_size;
  std::vector<std::string> qkv;
  for (std::int64_t i = 0; i < 3; ++i) {
    const char part = "qkv"[i];
    qkv.push_back(linear(fmt::format("{}/{}", module, part), x, fmt::format("{}.attn.{}", name, part),
                         part_of(weights.qkv, i * D, D)));
  }
  const bool fused = builder_.opset() >= 23 && !wants(GraphOutput::attentions);
  const std::string context =
      fused ? builder_.node(module, "Attention", qkv,
                            {{"q_num_heads", config_.num_heads}, {"kv_num_heads", config_.num_heads}})
            : softmax_attention(module, qkv, index);
  return linear(module + "/proj", context, name + ".attn.proj", weights.proj);
}

/// softmax(q kᵀ / √d) v, of q, k, v [batch, T, D]
std::string VitEmitter::softmax_attention(const std::string& module, const std::vector<std::string>& qkv,
                                          std::int64_t index) {
  const std::int64_t h = config_.num_heads;
  const std::int64_t d = config_.head_size();
  const auto heads = [&](std::size_t part, Ints perm) {
    const std::string name = fmt::format("{}/{}", module, "qkv"[part]);
    const std::string split = builder_.node(name, "Reshape", {qkv[part], builder_.ints({0, 0, h, d})});
    return builder_.node(name, "Transpose", {split}, {{"perm", std::move(perm)}});
  };
  const std::string q = heads(0, {0, 2, 1, 3});   // [batch, h, T, d]
  const std::string kt = heads(1, {0, 2, 3, 1});  // [batch, h, d, T]
  const std::string v = heads(2, {0, 2, 1, 3});   // [batch, h, T, d]
  // On the scores and as Div: what offline optimisers look for to fuse attention.
  const auto root = static_cast<float>(std::sqrt(static_cast<double>(d)));
  const std::string scores = builder_.node(
      module, "Div",
      {builder_.node(module + "/scores", "MatMul", {q, kt}), builder_.scalar("sqrt_head_size", root)});
  const std::string probs = publish(builder_.node(module, "Softmax", {scores}, {{"axis", std::int64_t{-1}}}),
                                    GraphOutput::attentions, {batch_, h, num_tokens(), num_tokens()}, index);
  const std::string context = builder_.node(module + "/context", "MatMul", {probs, v});
  const std::string merged = builder_.node(module, "Transpose", {context}, {{"perm", Ints{0, 2, 1, 3}}});
  return builder_.node(module, "Reshape", {merged, builder_.ints({0, 0, config_.hidden_size})});
}

std::string VitEmitter::mlp(const std::string& name, const std::string& x, const BlockWeights& weights) {
  const std::string module = "/" + name + "/mlp";
  const std::string hidden = linear(module + "/fc1", x, name + ".mlp.fc1", weights.fc1);
  const std::string active = activation(module + "/act", hidden, config_.activation);
  return linear(module + "/fc2", active, name + ".mlp.fc2", weights.fc2);
}

std::string VitEmitter::final_norm(const std::string& x) {
  return publish(layer_norm("/norm", x, "norm", weights_.norm), GraphOutput::last_hidden_state,
                 {batch_, num_tokens(), config_.hidden_size});
}

std::string VitEmitter::pool(const std::string& x) {
  const std::string cls =
      builder_.node("/pool", "Gather", {x, builder_.index(0)}, {{"axis", std::int64_t{1}}});
  switch (config_.pooling) {
    case Pooling::cls:
      break;
    case Pooling::cls_and_mean: {
      const std::string patches = builder_.node("/pool", "Slice",
                                                {x, builder_.ints({config_.num_prefix_tokens()}),
                                                 builder_.ints({num_tokens()}), builder_.ints({1})});
      return builder_.node("/pool", "Concat", {cls, mean("/pool", patches, 1, false)},
                           {{"axis", std::int64_t{1}}});
    }
  }
  return cls;
}

std::string VitEmitter::features(const std::string& x) {
  std::string pooled = pool(x);
  if (config_.pooler_size > 0) {
    pooled = activation("/pooler/act", gemm("/pooler/dense", pooled, "pooler.dense", weights_.pooler),
                        config_.pooler_activation);
  }
  const std::int64_t size = config_.pooler_size > 0 ? config_.pooler_size : config_.feature_size();
  return publish(pooled, GraphOutput::features, {batch_, size});
}

void VitEmitter::head(const std::string& features) {
  if (!wants(GraphOutput::logits) && !wants(GraphOutput::probabilities)) return;
  const std::vector<Dim> shape{batch_, config_.num_classes};
  const std::string logits =
      publish(gemm("/head", features, "head", weights_.head), GraphOutput::logits, shape);
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
