#include "export/vit_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "export/graph_builder.hpp"
#include "export/vit_emitter.hpp"
#include "vit/error.hpp"
#include "vit/position_embed.hpp"

namespace vit::exporter {
namespace {

std::int64_t ir_version(std::int64_t opset) {
  const auto* found =
      std::find_if(kOpsets.begin(), kOpsets.end(), [&](const auto& p) { return p.first == opset; });
  if (found == kOpsets.end()) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("opset {} cannot be written, expected 13, 17, 20 or 23", opset));
  }
  return found->second;
}

/// The options with nothing left open, or an Error(invalid_argument).
GraphOptions resolved(GraphOptions options, const ModelConfig& config) {
  if (options.image_size == Size2{}) options.image_size = config.image_size;
  config.validate_image(options.image_size);
  if (options.batch && (*options.batch < 1 || *options.batch > 65536)) {
    throw Error(ErrorCode::invalid_argument, fmt::format("a batch of {} is not possible", *options.batch));
  }
  if (options.outputs.empty()) {
    options.outputs = config.num_classes > 0
                          ? std::vector{GraphOutput::logits}
                          : std::vector{GraphOutput::features, GraphOutput::last_hidden_state};
  }
  for (const GraphOutput output : options.outputs) {
    const bool of_head = output == GraphOutput::logits || output == GraphOutput::probabilities;
    if (of_head && config.num_classes == 0) {
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("output {}: this model has no classification head", to_string(output)));
    }
    if (output == GraphOutput::probabilities && options.score_function == ScoreFunction::none) {
      throw Error(ErrorCode::invalid_argument,
                  "output probabilities: this model's scores are its logits (problem_type regression)");
    }
  }
  return options;
}

}  // namespace

std::string_view to_string(WeightStorage storage) {
  switch (storage) {
    case WeightStorage::fp32:
      return "fp32";
    case WeightStorage::fp16:
      return "fp16";
    case WeightStorage::int8:
      return "int8";
  }
  return "?";
}

std::string_view to_string(GraphOutput output) {
  switch (output) {
    case GraphOutput::logits:
      return "logits";
    case GraphOutput::probabilities:
      return "probabilities";
    case GraphOutput::features:
      return "features";
    case GraphOutput::last_hidden_state:
      return "last_hidden_state";
    case GraphOutput::hidden_states:
      return "hidden_states";
    case GraphOutput::attentions:
      return "attentions";
  }
  return "?";
}

Graph vit_graph(const ModelConfig& config, const Weights& weights, const GraphOptions& options) {
  config.validate();
  const std::int64_t ir = ir_version(options.opset);
  VitEmitter emit(config, weights, resolved(options, config), ir);
  std::string x = emit.pixel_values();
  x = emit.patch_embed(x);
  x = emit.embeddings(x);
  for (std::int64_t i = 0; i < config.num_layers; ++i) x = emit.block(i, x);
  x = emit.final_norm(x);
  emit.head(emit.features(x), x);
  return emit.finish();
}

ModelConfig graph_config(const ModelConfig& config, const GraphOptions& options) {
  ModelConfig result = config;
  const auto wants = [&](GraphOutput output) {
    return std::find(options.outputs.begin(), options.outputs.end(), output) != options.outputs.end();
  };
  if (config.num_classes > 0) result.pooler_size = 0;  // beside a head nothing reads it
  const bool head =
      options.outputs.empty() || wants(GraphOutput::logits) || wants(GraphOutput::probabilities);
  if (!head) {
    result.num_classes = 0;
    if (config.distillation == Distillation::head) result.distillation = Distillation::token;
  }
  if (options.image_size != Size2{}) result.image_size = options.image_size;
  if (config.num_prefix_tokens() > 0 || config.position_embedding != PositionEmbedding::none)
    result.position_embedding = PositionEmbedding::all_tokens;
  result.num_kv_heads = result.ungrouped_blocks = 0;  // each head has its own copy
  result.relative_resampling =
      RelativeResampling::none;  // done, and in each block where a shared table was added
  if (config.relative_positions == RelativePositions::both)
    result.relative_positions = RelativePositions::per_block;
  return result;
}

std::vector<std::string> quantized_values(const Graph& graph) {
  std::vector<std::string> names;
  for (const Node& node : graph.nodes) {
    // Linear layers alone: in attention both operands of a MatMul are results.
    const bool linear = node.op_type == "MatMul" && graph.find_initializer(node.inputs[1]) != nullptr;
    if (linear) names.push_back(node.inputs[0]);
  }
  return names;
}

}  // namespace vit::exporter
