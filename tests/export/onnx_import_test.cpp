// What comes back from a file: the network that was written.
#include "export/onnx_import.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <cstring>

#include "export/vit_graph.hpp"
#include "export/weight_storage.hpp"
#include "tests/export/graph_files.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/vit/network_cases.hpp"
#include "vit/half.hpp"
#include "vit/session.hpp"

namespace vit::exporter {
namespace {

using test::network_case;
using test::NetworkCase;
using test::TempFolder;

struct Imported {
  ModelConfig config;
  Weights weights;
};

std::shared_ptr<const OnnxFile> written(const Graph& graph) {
  const TempFolder folder;  // the mapping outlives the file
  test::write_outside(graph, folder / "m.onnx");
  return std::make_shared<const OnnxFile>(read_onnx(folder / "m.onnx"));
}

Imported there_and_back(const NetworkCase& c, const GraphOptions& options) {
  const ModelConfig config = graph_config(c.config, options);
  return {config, read_weights(written(vit_graph(c.config, test::lively_weights(c), options)), config)};
}

GraphOptions options_of(const NetworkCase& c, WeightStorage storage, std::int64_t opset = 17) {
  GraphOptions options;
  options.image_size = c.image;
  options.weights = storage;
  options.opset = opset;
  return options;
}

/// The engine's answer as bits.
std::vector<float> answer(const std::shared_ptr<const Model>& model, const NetworkCase& c) {
  Session session(model, {.batch = c.batch, .image_size = c.image_size(), .threads = 1});
  const Tensor pixels = test::pixel_values(c);
  const Outputs& outputs = session.forward(pixels.view());
  std::vector<float> all;
  for (const ConstTensorView& view : {outputs.last_hidden_state, outputs.features, outputs.logits}) {
    if (view.data != nullptr) all.insert(all.end(), view.data, view.data + view.size());
  }
  return all;
}

class OnnxImport : public testing::TestWithParam<NetworkCase> {};

TEST_P(OnnxImport, GivesTheSameAnswersToTheLastBit) {
  const NetworkCase& c = GetParam();
  Imported back = there_and_back(c, options_of(c, WeightStorage::fp32));
  EXPECT_EQ(back.config.image_size, c.image_size());
  const std::vector<float> got = answer(std::make_shared<const Model>(back.config, back.weights), c);
  EXPECT_EQ(got, answer(test::make_model(c), c));
}

/// A value as the file keeps it.
float rounded(float value, WeightStorage storage, float scale) {
  if (storage == WeightStorage::fp32) return value;
  if (storage == WeightStorage::int8) return std::nearbyint(value / scale) * scale;
  const std::uint16_t half = to_f16(value);
  Tensor widened({1});
  WeightView{{1}, {{reinterpret_cast<const std::byte*>(&half), DType::f16, 1, 0}}}.copy_to(widened.data());
  return widened.data()[0];
}

void expect_weights(const NetworkCase& c, WeightStorage storage, Weights back) {
  Weights source = test::lively_weights(c);
  std::map<std::string, WeightView> originals;
  for_each_tensor(c.config, source,
                  [&](const TensorSpec& spec, const WeightView& view) { originals[spec.name] = view; });
  for (std::size_t i = 0; i < source.blocks.size(); ++i) {  // shared heads are written out
    const LinearWeights qkv = ungrouped_qkv(c.config, source.blocks[i]);
    originals["blocks." + std::to_string(i) + ".attn.qkv.weight"] = qkv.weight;
    originals["blocks." + std::to_string(i) + ".attn.qkv.bias"] = qkv.bias;
  }
  std::size_t compared = 0;
  for_each_tensor(graph_config(c.config, options_of(c, storage)), back,
                  [&](const TensorSpec& spec, const WeightView& view) {
                    ASSERT_EQ(view.shape, spec.shape) << spec.name;
                    const Tensor got = view.to_tensor();
                    if (spec.name.ends_with("_token")) {
                      for (const float value : got.elements()) ASSERT_EQ(value, 0.0F) << spec.name;
                      return;
                    }
                    const bool relative = spec.name.find("relative_position") != std::string::npos;
                    const bool as_it_was = c.config.relative_positions != RelativePositions::both &&
                                           c.config.relative_resampling == RelativeResampling::none;
                    if (spec.name == "pos_embed" || (relative && !as_it_was)) return;  // sums, or resampled
                    const Tensor want = originals.at(spec.name).to_tensor();
                    const bool matrix = spec.shape.size() > 1;
                    const bool linear = spec.shape.size() == 2 && !relative;
                    const WeightStorage kept =
                        linear || (matrix && storage == WeightStorage::fp16 &&
                                   spec.name != "attn_pool.latent" && spec.name != "rope.freqs" && !relative)
                            ? storage
                            : WeightStorage::fp32;
                    const std::int64_t columns = want.size() / spec.shape[0];
                    for (std::int64_t r = 0; r < spec.shape[0]; ++r) {
                      float largest = 0;
                      for (std::int64_t i = r * columns; i < (r + 1) * columns; ++i)
                        largest = std::max(largest, std::fabs(want.data()[i]));
                      for (std::int64_t i = r * columns; i < (r + 1) * columns; ++i)
                        ASSERT_EQ(got.data()[i], rounded(want.data()[i], kept, largest / 127))
                            << spec.name << " " << i;
                    }
                    ++compared;
                  });
  EXPECT_GT(compared, 10U);
}

TEST_P(OnnxImport, WeightsAreThoseOfTheFile) {
  const NetworkCase& c = GetParam();
  for (const WeightStorage storage : {WeightStorage::fp32, WeightStorage::fp16, WeightStorage::int8}) {
    SCOPED_TRACE(to_string(storage));
    expect_weights(c, storage, there_and_back(c, options_of(c, storage)).weights);
  }
}

INSTANTIATE_TEST_SUITE_P(All, OnnxImport, testing::ValuesIn(test::network_cases()),
                         testing::PrintToStringParamName());

TEST(OnnxImportForms, FromEveryOpsetAndInput) {
  const NetworkCase& c = network_case("small");
  const std::vector<float> expected = answer(test::make_model(c), c);
  for (const auto& [opset, ir] : kOpsets) {
    GraphOptions options = options_of(c, WeightStorage::fp32, opset);
    options.byte_input = ByteInput{{1, 1, 1}, {0, 0, 0}};
    options.batch = 2;
    options.outputs = {GraphOutput::probabilities, GraphOutput::attentions};
    const Imported back = there_and_back(c, options);
    EXPECT_EQ(answer(std::make_shared<const Model>(back.config, back.weights), c), expected);
  }
}

/// A file that gives features holds a whole network, if without a head.
TEST(OnnxImportForms, WithoutAHead) {
  using O = GraphOutput;
  for (const char* name :
       {"small", "pooler", "pooler_beside_a_head", "attention_pooling", "mean_normed_after",
        "distillation_head", "cls_and_mean", "mean_never_normed", "no_head"}) {
    const NetworkCase& c = network_case(name);
    for (const WeightStorage storage : {WeightStorage::fp32, WeightStorage::int8}) {
      for (const std::vector<O>& outputs : {std::vector{O::features}, {O::features, O::hidden_states}}) {
        SCOPED_TRACE(std::string(name) + " " + std::string(to_string(outputs.front())));
        GraphOptions options = options_of(c, storage);
        options.outputs = outputs;
        Imported back;
        ASSERT_NO_THROW(back = there_and_back(c, options));
        ASSERT_NO_THROW(back.config.validate());
        const Model model(back.config, back.weights);
        if (storage != WeightStorage::fp32) continue;
        // What it gives is still what the source gives.
        const auto got = answer(std::make_shared<const Model>(back.config, back.weights), c);
        const auto want = answer(test::make_model(c), c);
        ASSERT_GE(want.size(), got.size());
        EXPECT_TRUE(std::equal(got.begin(), got.end(), want.begin()));
      }
    }
  }
}

/// One that gives other outputs alone may lack some of it.
TEST(OnnxImportForms, WithoutWhatNoOutputNeeds) {
  using O = GraphOutput;
  for (const char* name :
       {"small", "mean_normed_after", "attention_pooling", "distillation_head", "pooler"}) {
    const NetworkCase& c = network_case(name);
    for (const O output : {O::hidden_states, O::attentions}) {
      GraphOptions options = options_of(c, WeightStorage::fp32);
      options.outputs = {output};
      const ModelConfig config = graph_config(c.config, options);
      const auto file = written(vit_graph(c.config, test::lively_weights(c), options));
      EXPECT_ERROR(read_weights(file, config), ErrorCode::weights_invalid, "m.onnx",
                   "was exported for " + std::string(to_string(output)) + " alone");
      Weights weights;
      ASSERT_NO_THROW(weights = read_weights(file, config, test::lively_weights(c)));
      const auto got = answer(std::make_shared<const Model>(config, weights), c);
      const auto want = answer(test::make_model(c), c);
      ASSERT_GE(want.size(), got.size());
      EXPECT_TRUE(std::equal(got.begin(), got.end(), want.begin())) << name;
    }
  }
}

TEST(OnnxImportErrors, TakesNoMemoryForTokensThatTheFileDoesNotHave) {
  const NetworkCase& c = network_case("small");
  const auto file = written(vit_graph(c.config, test::lively_weights(c), options_of(c, WeightStorage::fp32)));
  ModelConfig config = graph_config(c.config, options_of(c, WeightStorage::fp32));
  config.num_registers = std::int64_t{1} << 40;  // petabytes
  EXPECT_ERROR(read_weights(file, config), ErrorCode::weights_invalid, "no rows for reg_token");
}

TEST(OnnxImportErrors, NamesEverythingThatDoesNotFit) {
  const NetworkCase& c = network_case("small");
  Graph graph = vit_graph(c.config, test::lively_weights(c), {});
  const auto find = [&](const std::string& name) {
    return std::find_if(graph.initializers.begin(), graph.initializers.end(),
                        [&](const Initializer& i) { return i.name == name; });
  };
  find("head.bias")->name = "head.bios";
  *find("blocks.1.mlp.fc1.weight") = test::made_up("blocks.1.mlp.fc1.weight", ElementType::f32, {20, 12});
  *find("norm.weight") = test::made_up("norm.weight", ElementType::i64, {12});
  *find("blocks.0.attn.k.weight") = test::made_up("blocks.0.attn.k.weight", ElementType::i8, {12, 12});
  EXPECT_ERROR(read_weights(written(graph), graph_config(c.config, {})), ErrorCode::weights_invalid, "m.onnx",
               "head.bias is missing, expected [5]",
               "blocks.1.mlp.fc1.weight has shape [20, 12], expected [12, 20]",
               "norm.weight is of type int64", "blocks.0.attn.k.weight_scale is missing, expected [12]");
}

TEST(OnnxImportErrors, NodesThatAreIncomplete) {
  const NetworkCase& c = network_case("small");
  Graph graph = vit_graph(c.config, test::lively_weights(c), {});
  for (const char* op : {"Cast", "DequantizeLinear", "MatMul"}) {
    graph.nodes.push_back({std::string("none of ") + op, op, {}, {}, {}});
    graph.nodes.push_back({std::string("no input of ") + op, op, {}, {"y"}, {}});
    graph.nodes.push_back({std::string("no output of ") + op, op, {"y"}, {}, {}});
  }
  EXPECT_NO_THROW(read_weights(written(graph), graph_config(c.config, {})));
}

}  // namespace
}  // namespace vit::exporter
