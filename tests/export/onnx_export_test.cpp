// The whole way of an export, and that a failure leaves nothing behind.
#include "export/onnx_export.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "export/onnx_file.hpp"
#include "tests/export/graph_files.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/vit/network_cases.hpp"

namespace vit::exporter {
namespace {

namespace fs = std::filesystem;
using test::network_case;
using test::NetworkCase;
using test::read_text;
using test::TempFolder;
using testing::HasSubstr;
using testing::IsEmpty;

/// Weights that a test may change.
struct Source {
  ModelConfig config = network_case("small").config;
  Weights weights = test::lively_weights(network_case("small"));

  void set(WeightView& view, float value) {
    std::memcpy(const_cast<std::byte*>(view.parts[0].data) + 4, &value, sizeof value);  // the second element
  }
  ExportReport write(const fs::path& target, const ExportOptions& options = {}) const {
    return export_onnx(config, weights, target, options);
  }
};

ExportOptions forcing() {
  ExportOptions options;
  options.overwrite = true;
  options.threads = 1;
  return options;
}

bool is_empty(const TempFolder& folder) {
  return fs::is_empty(folder.path());
}

TEST(ExportOnnx, ReportsWhatItWrote) {
  const TempFolder folder;
  ExportOptions options = forcing();
  options.model_name = "tiny";
  options.producer_version = "7";
  options.doc_string = "doc";
  options.metadata = {{"a", "b"}};
  const ExportReport report = Source().write(folder / "m.onnx", options);
  EXPECT_EQ(report.model, folder / "m.onnx");
  EXPECT_EQ(report.model_bytes, fs::file_size(folder / "m.onnx"));
  EXPECT_EQ(report.data, std::nullopt);
  EXPECT_EQ(report.opset, 17);
  EXPECT_EQ(report.ir_version, 8);
  ASSERT_EQ(report.differences.size(), 2U);  // batch 1 and 3
  EXPECT_EQ(report.differences[0].batch, 1);
  EXPECT_EQ(report.differences[1].batch, 3);
  for (const OutputDifference& d : report.differences) {
    EXPECT_EQ(d.output, "logits");
    EXPECT_LT(d.largest, 1e-5 * d.magnitude);
    EXPECT_GT(d.magnitude, 0.1);
    EXPECT_EQ(d.same_top1, d.batch);
  }
  EXPECT_THAT(report.rounding, IsEmpty());
  EXPECT_THAT(report.checked, HasSubstr("libonnx"));
  const Graph graph = read_onnx(folder / "m.onnx").graph;
  EXPECT_EQ(graph.name, "tiny");
  EXPECT_EQ(graph.producer_name, "vitrine");
  EXPECT_EQ(graph.producer_version, "7");
  EXPECT_EQ(graph.doc_string, "doc");
  EXPECT_EQ(graph.metadata, options.metadata);
  EXPECT_EQ(graph.nodes.size(), report.nodes);
  EXPECT_EQ(graph.inputs, report.inputs);
  EXPECT_EQ(graph.outputs, report.outputs);
}

TEST(ExportOnnx, EveryNetworkProvesItsFile) {
  const TempFolder folder;
  for (const char* name :
       {"patches_not_square", "positions_down", "registers_without_positions", "qk_norm_no_bias", "gated_mlp",
        "attention_pooling_behind_registers", "distillation_head", "pre_norm", "pooler_beside_a_head",
        "mean_normed_after", "no_head"}) {
    const NetworkCase& c = network_case(name);
    for (const WeightStorage storage : {WeightStorage::fp32, WeightStorage::fp16, WeightStorage::int8}) {
      SCOPED_TRACE(std::string(name) + " " + std::string(to_string(storage)));
      ExportOptions options = forcing();
      options.graph.weights = storage;
      options.graph.image_size = c.image;
      ExportReport report;
      ASSERT_NO_THROW(report = export_onnx(c.config, test::lively_weights(c), folder / "m.onnx", options));
      for (const OutputDifference& d : report.differences) EXPECT_LT(d.largest, 1e-5 * d.magnitude);
      EXPECT_EQ(report.rounding.size(), storage == WeightStorage::fp32 ? 0 : report.differences.size());
    }
  }
}

TEST(ExportOnnx, RoundedWeightsWithAnyOutputs) {
  const TempFolder folder;
  using O = GraphOutput;
  for (const std::vector<O>& outputs : {std::vector{O::features},
                                        {O::last_hidden_state},
                                        {O::hidden_states},
                                        {O::attentions},
                                        {O::probabilities, O::attentions}}) {
    ExportOptions options = forcing();
    options.graph.weights = WeightStorage::fp16;
    options.graph.outputs = outputs;
    EXPECT_NO_THROW(Source().write(folder / "m.onnx", options)) << to_string(outputs.front());
  }
}

TEST(ExportOnnx, ExternalWeightsAndWithoutVerification) {
  const TempFolder folder;
  ExportOptions options = forcing();
  options.external_weights = ExternalWeights::always;
  options.verify = false;
  const NetworkCase& c = network_case("5_heads_of_7");
  const ExportReport report = export_onnx(c.config, test::lively_weights(c), folder / "m.onnx", options);
  EXPECT_EQ(report.data, folder / "m.onnx.data");
  EXPECT_EQ(report.data_bytes, fs::file_size(folder / "m.onnx.data"));
  EXPECT_THAT(report.differences, IsEmpty());
}

TEST(ExportOnnx, NothingIsLeftWhereWeightsCannotBe) {
  const float nan = std::nanf("");
  const float infinity = std::numeric_limits<float>::infinity();
  const TempFolder folder;
  for (const float value : {nan, infinity, -infinity}) {
    for (const bool verify : {true, false}) {
      Source source;
      source.set(source.weights.blocks[1].fc1.weight, value);
      ExportOptions options;
      options.verify = verify;
      EXPECT_ERROR(source.write(folder / "m.onnx", options), ErrorCode::weights_invalid,
                   "blocks.1.mlp.fc1.weight", std::isnan(value) ? "nan" : "inf");
      EXPECT_TRUE(is_empty(folder));
    }
  }
  Source source;
  source.set(source.weights.pos_embed, nan);
  EXPECT_ERROR(source.write(folder / "m.onnx"), ErrorCode::weights_invalid, "pos_embed");
  EXPECT_TRUE(is_empty(folder));
}

TEST(ExportOnnx, WeightsBeyondF16StayF32) {
  const TempFolder folder;
  Source source;
  source.set(source.weights.head.weight, 70000);
  ExportOptions options = forcing();
  options.graph.weights = WeightStorage::fp16;
  EXPECT_ERROR(source.write(folder / "m.onnx", options), ErrorCode::weights_invalid, "head.weight", "70000",
               "65504", "fp32");
  EXPECT_TRUE(is_empty(folder));
  options.graph.weights = WeightStorage::fp32;
  EXPECT_NO_THROW(source.write(folder / "m.onnx", options));
  options.graph.weights = WeightStorage::fp16;
  const std::string before = read_text(folder / "m.onnx");
  EXPECT_ERROR(source.write(folder / "m.onnx", options), ErrorCode::weights_invalid, "head.weight");
  EXPECT_EQ(read_text(folder / "m.onnx"), before);  // what was there stays
  // A vector is never rounded.
  Source vector;
  vector.set(vector.weights.head.bias, 70000);
  EXPECT_NO_THROW(vector.write(folder / "m.onnx", options));
}

TEST(ExportOnnx, AClassTokenAndItsPositionBeyondF16Together) {
  const TempFolder folder;
  Source source;
  source.set(source.weights.cls_token, 60000);
  source.set(source.weights.pos_embed, 60000);
  ExportOptions options = forcing();
  options.graph.weights = WeightStorage::fp16;
  EXPECT_ERROR(source.write(folder / "m.onnx", options), ErrorCode::weights_invalid, "pos_embed", "65504");
  EXPECT_TRUE(is_empty(folder));
}

TEST(ExportOnnx, ANetworkThatOverflowsFailsItsVerification) {
  const TempFolder folder;
  Source source;
  source.set(source.weights.head.weight, 3e38F);
  Tensor& large = *std::make_unique<Tensor>(Shape{12}).release();  // γ of the last norm
  const std::shared_ptr<const Tensor> owner(&large);
  for (float& value : large.elements()) value = 1e30F;
  source.weights.norm.weight.parts[0].data = reinterpret_cast<const std::byte*>(large.data());
  EXPECT_ERROR(source.write(folder / "m.onnx"), ErrorCode::verification_failed, "NaN or infinity");
  EXPECT_TRUE(is_empty(folder));
  ExportOptions options;
  options.external_weights = ExternalWeights::always;
  EXPECT_ERROR(source.write(folder / "m.onnx", options), ErrorCode::verification_failed, "NaN or infinity");
  EXPECT_TRUE(is_empty(folder));
}

TEST(ExportOnnx, IncompleteWeightsAreNamed) {
  const TempFolder folder;
  for (const char* missing : {"pos_embed", "qkv", "head"}) {
    Source source;
    if (missing == std::string("pos_embed")) source.weights.pos_embed = {};
    if (missing == std::string("qkv")) source.weights.blocks[1].qkv.weight = {};
    if (missing == std::string("head")) source.weights.head.weight.shape = {5, 11};
    EXPECT_ERROR(source.write(folder / "m.onnx"), ErrorCode::weights_invalid, missing,
                 "missing or has another shape");
  }
  Source source;
  source.weights.blocks.clear();
  EXPECT_ERROR(source.write(folder / "m.onnx"), ErrorCode::weights_invalid, "blocks.0.norm1.weight");
  EXPECT_TRUE(is_empty(folder));
}

TEST(ExportOnnx, OptionsThatCannotBeLeaveNothing) {
  const TempFolder folder;
  ExportOptions options;
  options.graph.opset = 18;
  EXPECT_ERROR(Source().write(folder / "m.onnx", options), ErrorCode::invalid_argument, "opset 18");
  options = {};
  options.metadata = {{"a", "1"}, {"a", "2"}};
  EXPECT_ERROR(Source().write(folder / "m.onnx", options), ErrorCode::verification_failed,
               "key a occurs twice");
  EXPECT_TRUE(is_empty(folder));
}

TEST(ExportOnnx, IsTheSameBytesEachTime) {
  const TempFolder folder;
  const TempFolder other;
  ExportOptions options = forcing();
  options.external_weights = ExternalWeights::always;
  const NetworkCase& c = network_case("5_heads_of_7");
  for (const TempFolder* to : {&folder, &other}) {
    options.threads = to == &folder ? 1 : 3;
    export_onnx(c.config, test::lively_weights(c), *to / "m.onnx", options);
  }
  EXPECT_EQ(read_text(folder / "m.onnx"), read_text(other / "m.onnx"));
  EXPECT_EQ(read_text(folder / "m.onnx.data"), read_text(other / "m.onnx.data"));
}

}  // namespace
}  // namespace vit::exporter
