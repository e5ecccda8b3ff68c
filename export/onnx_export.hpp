// Writes a network to model.onnx and proves the file before it appears.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "export/graph.hpp"
#include "export/onnx_verify.hpp"
#include "export/vit_graph.hpp"
#include "vit/config.hpp"
#include "vit/weights.hpp"

namespace vit::exporter {

/// Whether the weights lie in a data file of their own, "model.onnx.data" beside "model.onnx".
enum class ExternalWeights {
  automatic,  ///< beyond kMaxInlineBytes
  always,
  never,
};

struct ExportOptions {
  GraphOptions graph;
  ExternalWeights external_weights = ExternalWeights::automatic;
  bool overwrite = false;  ///< an existing model, and its data file
  bool verify = true;      ///< numerically; the structure is checked always
  int threads = 0;         ///< of the verification; 0: available_threads()
  std::string model_name;  ///< of the graph
  std::string producer_version;
  std::string doc_string;
  Metadata metadata;
};

struct ExportReport {
  std::filesystem::path model;
  std::uint64_t model_bytes = 0;
  std::optional<std::filesystem::path> data;
  std::uint64_t data_bytes = 0;
  std::int64_t opset = 0;
  std::int64_t ir_version = 0;
  std::size_t nodes = 0;
  std::vector<ValueInfo> inputs;
  std::vector<ValueInfo> outputs;
  std::string checked;  ///< by whom: "structure, libonnx 1.12.0 (checker and shape inference)"
  std::vector<OutputDifference> differences;  ///< against the engine with the weights as they are in the file
  std::vector<OutputDifference>
      rounding;  ///< of a file with rounded weights, against the engine with the originals
};

/// Builds the graph, writes it beside the target, reads it back, compares every weight with its source, has
/// the structure checked, evaluates the file at batch 1 and 3 (or its fixed one) against the engine, and only
/// then puts it in place: the data file first. Until then, and after any failure, the target is what it was.
/// At no moment is there a model without its data file: a data file that another model at the target refers
/// to is replaced by one of another name.
///
/// Throws Error: invalid_argument (options that cannot be), weights_invalid (NaN, infinity, or a weight
/// beyond f16's range), output_unwritable (a target that exists, is a link, or cannot be written; too little
/// space), verification_failed.
ExportReport export_onnx(const ModelConfig& config, const Weights& weights,
                         const std::filesystem::path& target, const ExportOptions& options);

}  // namespace vit::exporter
