// A network as an ONNX graph: the same stages, in the same order and by the same names, as vit/ computes
// them.
//
// Built for reach: no Shape, Expand, Constant, Identity or Split, a batch that is free without any of them,
// and only patterns that runtimes fuse by themselves. Which runtime loads what: export/README.md.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "export/graph.hpp"
#include "vit/config.hpp"
#include "vit/predict.hpp"
#include "vit/weights.hpp"

namespace vit::exporter {

/// How the matrices are kept in the file; vectors (biases, norms) stay f32.
enum class WeightStorage {
  fp32,  ///< as they are; f16 and bf16 checkpoints are widened, which loses nothing
  fp16,  ///< rounded to f16, cast back to f32 where they are used: half the file
  int8,  ///< linear layers rounded to 8 bits per output channel (DequantizeLinear): a quarter of the file
};

std::string_view to_string(WeightStorage storage);

enum class GraphOutput {
  logits,             ///< [batch, K]
  probabilities,      ///< [batch, K], by the model's score function
  features,           ///< [batch, feature size]
  last_hidden_state,  ///< [batch, T, D]
  hidden_states,      ///< L + 1 outputs hidden_states.0 … [batch, T, D]
  attentions,         ///< L outputs attentions.0 … [batch, h, T, T]
};

std::string_view to_string(GraphOutput output);

/// Pictures as bytes [batch, H, W, C]: value = byte * scale + offset, by channel.
struct ByteInput {
  std::vector<float> scale;
  std::vector<float> offset;
};

/// Largest magnitudes of the values that 8-bit arithmetic rounds, by the value's name in the graph.
using ActivationRanges = std::map<std::string, float>;

struct GraphOptions {
  std::int64_t opset = 17;            ///< 13, 17, 20 or 23; the IR version follows
  std::optional<std::int64_t> batch;  ///< nothing: free
  /// {0, 0}: the model's own. Others get resampled positions. What does not fill a patch is dropped, as the
  /// engine does.
  Size2 image_size{};
  WeightStorage weights = WeightStorage::fp32;
  std::optional<ByteInput> byte_input;
  std::vector<GraphOutput>
      outputs;  ///< empty: logits, or features and last_hidden_state of a model without a head
  ScoreFunction score_function = ScoreFunction::softmax;
  ActivationRanges
      ranges;  ///< not empty: linear layers multiply 8-bit integers (QuantizeLinear, DequantizeLinear)
};

/// Opsets that can be written, and the IR version of each.
inline constexpr std::array<std::pair<std::int64_t, std::int64_t>, 4> kOpsets{
    {{13, 7}, {17, 8}, {20, 9}, {23, 10}}};

/// The graph of a network. Its initializers refer to the weights' storage and keep it alive. Throws Error:
/// invalid_argument (an opset, batch, image size or output that cannot be).
Graph vit_graph(const ModelConfig& config, const Weights& weights, const GraphOptions& options);

/// The network that such a graph holds: made for the image size of the export, every token with a row in the
/// position table, without a head where no output needs one.
ModelConfig graph_config(const ModelConfig& config, const GraphOptions& options);

/// The names of the values that ActivationRanges must have for vit_graph's linear layers: what they multiply.
std::vector<std::string> quantized_values(const Graph& graph);

}  // namespace vit::exporter
