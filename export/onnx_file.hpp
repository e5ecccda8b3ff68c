// Graphs as .onnx files (https://github.com/onnx/onnx/blob/main/onnx/onnx.proto), with their weights inside
// or in one data file beside them. Neither writing nor reading ever holds more than one weight in memory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "export/graph.hpp"
#include "vit/file.hpp"

namespace vit::exporter {

/// Protobuf refuses messages of 2 GiB; the rest is for the graph itself.
inline constexpr std::int64_t kMaxInlineBytes = 1'900'000'000;

/// Bytes of all initializers.
std::int64_t initializer_bytes(const Graph& graph);

/// Writes the graph with its weights inside. Deterministic. Throws Error: output_unwritable; invalid_argument
/// beyond kMaxInlineBytes.
void write_onnx(const Graph& graph, AtomicFile& file);

/// Where each initializer lies in a data file; those that are not in it stay in the model.
struct ExternalData {
  std::string location;  ///< the data file's name, without a folder
  struct Region {
    std::uint64_t offset = 0;
    std::uint64_t length = 0;
  };
  std::map<std::string, Region> regions;
};

/// Weights of 1 KiB and more, in order; those of 64 KiB and more begin at multiples of 64 KiB, as Windows
/// maps them, the others at multiples of 64 bytes. `location` is what the model will call the file.
ExternalData external_layout(const Graph& graph, std::string location);
/// Writes the data file in this layout.
ExternalData write_external_data(const Graph& graph, AtomicFile& file, std::string location);
/// Writes the model of such a data file.
void write_onnx(const Graph& graph, const ExternalData& data, AtomicFile& file);

/// A file as it was found. The graph's initializers refer to the mapped files, which it keeps.
struct OnnxFile {
  Graph graph;
  std::filesystem::path path;
  std::vector<std::filesystem::path> data_files;
  std::string description;  ///< for people: "an ONNX model written by pytorch 2.14.1 (opset 20, IR 10)"
  std::string unsupported;  ///< the first thing in it that Graph cannot hold; then the graph is not whole
};

/// Reads a file; `data_file` stands in for the data file that the model names. Throws Error: model_not_found
/// (no such file, or no data file), weights_invalid (no ONNX model, damaged, a weight that reaches beyond its
/// file, a data file outside of the model's folder).
OnnxFile read_onnx(const std::filesystem::path& path,
                   const std::optional<std::filesystem::path>& data_file = {});

}  // namespace vit::exporter
