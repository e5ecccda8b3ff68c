#include "export/onnx_export.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <system_error>

#include "export/onnx_check.hpp"
#include "export/onnx_file.hpp"
#include "export/onnx_import.hpp"
#include "export/onnx_target.hpp"
#include "export/weight_storage.hpp"
#include "vit/error.hpp"
#include "vit/session.hpp"

namespace vit::exporter {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kPictures = 3;      // different ones: a mix-up within a batch shows only then
constexpr double kTolerance = 1e-4;        // of the largest magnitude; float32's own noise is 1e-6
constexpr double kRoundedTolerance = 0.5;  // of 8-bit arithmetic: only a broken graph is beyond that
constexpr float kLargestF16 = 65504.0F;

/// All weights are there and finite, and f16 can hold them where it must.
void check_weights(const ModelConfig& config, Weights weights, WeightStorage storage) {
  for_each_tensor(config, weights, [&](const TensorSpec& spec, const WeightView& view) {
    if (view.empty() || view.shape != spec.shape)
      throw Error(ErrorCode::weights_invalid,
                  fmt::format("weight {} is missing or has another shape", spec.name));
    const float largest = largest_magnitude(view);
    if (weights.release_pages) weights.release_pages();
    if (!std::isfinite(largest)) {
      throw Error(
          ErrorCode::weights_invalid,
          fmt::format("weight {} contains {}: a network with it computes nothing", spec.name, largest));
    }
    if (storage == WeightStorage::fp16 && spec.shape.size() > 1 && largest > kLargestF16) {
      throw Error(ErrorCode::weights_invalid,
                  fmt::format("weight {} has values up to {}, and f16 ends at {}: export it as fp32",
                              spec.name, largest, kLargestF16));
    }
  });
}

/// Some weights of the graph are sums, which may be beyond f16's range where their parts are not.
void check_halves(const Initializer& initializer, const std::vector<std::byte>& bytes) {
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(std::uint16_t)) {
    std::uint16_t half = 0;
    std::memcpy(&half, bytes.data() + at, sizeof half);
    if ((half & 0x7C00U) == 0x7C00U) {
      throw Error(ErrorCode::weights_invalid,
                  fmt::format("weight {} has values beyond {}, where f16 ends: export it as fp32",
                              initializer.name, kLargestF16));
    }
  }
}

/// What was read back is what was meant: every node, name, shape and byte.
void check_read_back(const Graph& meant, const Graph& found) {
  const auto fail = [](const std::string& what) {
    throw Error(ErrorCode::verification_failed, "the file does not read back as it was written: " + what);
  };
  if (found.inputs != meant.inputs || found.outputs != meant.outputs || found.opset != meant.opset ||
      found.ir_version != meant.ir_version || found.metadata != meant.metadata || found.nodes != meant.nodes)
    fail("its graph differs");
  if (found.initializers.size() != meant.initializers.size()) fail("the number of weights differs");
  for (std::size_t i = 0; i < meant.initializers.size(); ++i) {
    const Initializer& a = meant.initializers[i];
    const Initializer& b = found.initializers[i];
    if (a.name != b.name || a.type != b.type || a.shape != b.shape)
      fail(fmt::format("weight {} differs", a.name));
    std::vector<std::byte> expected(static_cast<std::size_t>(a.bytes()));
    std::vector<std::byte> got(expected.size());
    a.fill(expected.data());
    b.fill(got.data());
    if (a.type == ElementType::f16) check_halves(a, expected);
    if (expected != got) fail(fmt::format("the bytes of weight {} differ", a.name));
  }
}

void require_close(const std::vector<OutputDifference>& differences, double tolerance) {
  for (const OutputDifference& d : differences) {
    if (d.largest <= tolerance * d.magnitude) continue;  // false for NaN, too
    throw Error(
        ErrorCode::verification_failed,
        fmt::format(
            "at batch {}, {} differs from the engine's by up to {:.3g}, where its largest value is {:.3g} "
            "(at most {:.3g} was expected)",
            d.batch, d.output, d.largest, d.magnitude, tolerance * d.magnitude));
  }
}

/// Evaluates the file that was read back, and compares it with the engine.
void verify_numbers(const std::shared_ptr<const OnnxFile>& file, const ModelConfig& config,
                    const Weights& weights, const ExportOptions& options, ExportReport& report) {
  const Graph& graph = file->graph;
  const GraphOptions& graph_options = options.graph;
  const int threads = options.threads > 0 ? options.threads : available_threads();
  const TestPictures pictures = test_pictures(config, graph_options, graph_options.batch.value_or(kPictures));
  // One model in memory at a time.
  const auto run = [&](const ModelConfig& of, Weights with) {
    try {
      return run_engine(std::make_shared<const Model>(of, std::move(with), ModelOptions{Precision::fp32}), graph, graph_options, pictures,
                        threads);
    } catch (const Error& e) {
      if (e.code() != ErrorCode::not_finite) throw;
      throw Error(ErrorCode::verification_failed, fmt::format("nothing can be verified: {}", e.what()));
    }
  };
  const bool exact = graph_options.weights == WeightStorage::fp32;
  const NamedTensors original = run(config, weights);
  const NamedTensors rounded = exact ? NamedTensors{}
                                     : run(graph_config(config, graph_options),
                                           read_weights(file, graph_config(config, graph_options), weights));

  const GraphRunner runner(graph, threads);
  const std::vector<std::int64_t> batches =
      graph_options.batch ? std::vector{*graph_options.batch} : std::vector<std::int64_t>{1, kPictures};
  for (const std::int64_t batch : batches) {
    const NamedTensors got = run_graph(runner, graph, pictures, batch);
    const auto append = [&](std::vector<OutputDifference>& to, const NamedTensors& expected) {
      const auto found = differences(graph, got, expected);
      to.insert(to.end(), found.begin(), found.end());
    };
    append(report.differences, exact ? original : rounded);
    if (!exact) append(report.rounding, original);
  }
  require_close(report.differences, graph_options.ranges.empty() ? kTolerance : kRoundedTolerance);
}

std::uint64_t bytes_of(const fs::path& path) {
  std::error_code ignored;
  return fs::file_size(path, ignored);
}

}  // namespace

ExportReport export_onnx(const ModelConfig& config, const Weights& weights, const fs::path& target,
                         const ExportOptions& options) {
  config.validate();
  check_weights(config, weights, options.graph.weights);
  Graph graph = vit_graph(config, weights, options.graph);
  graph.name = options.model_name.empty() ? "vit" : options.model_name;
  graph.producer_name = "vitrine";
  graph.producer_version = options.producer_version;
  graph.doc_string = options.doc_string;
  graph.metadata = options.metadata;

  const bool external =
      options.external_weights == ExternalWeights::always ||
      (options.external_weights == ExternalWeights::automatic && initializer_bytes(graph) > kMaxInlineBytes);
  OnnxTarget files(target, options.overwrite);
  files.require_space(initializer_bytes(graph));
  files.write(graph, external);

  ExportReport report;
  const auto written = std::make_shared<const OnnxFile>(files.read_back());
  check_read_back(graph, written->graph);
  check_structure(written->graph);
  report.checked = check_with_libonnx(written->graph);
  if (options.verify) verify_numbers(written, config, weights, options, report);
  files.commit();

  report.model = files.model();
  report.data = files.data();
  report.model_bytes = bytes_of(report.model);
  if (report.data) report.data_bytes = bytes_of(*report.data);
  report.opset = graph.opset;
  report.ir_version = graph.ir_version;
  report.nodes = graph.nodes.size();
  report.inputs = graph.inputs;
  report.outputs = graph.outputs;
  return report;
}

}  // namespace vit::exporter
