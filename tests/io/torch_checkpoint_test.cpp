// Whole models whose weights PyTorch's or NumPy's formats hold. (Real files of theirs: torch_file_test.cpp.)
#include <gtest/gtest.h>

#include "io/checkpoint.hpp"
#include "tests/io/torch_bytes.hpp"
#include "tests/support/editable_model.hpp"
#include "tests/support/expect_error.hpp"

namespace vit::io {
namespace {

using namespace torch_bytes;
using test::EditableModel;
using test::TempFolder;

using Tensors = std::map<std::string, EditableModel::Stored>;

/// A checkpoint of the format before torch 1.6: {"epoch": 7, KEY: {PREFIX NAME: tensor, …}}.
std::string checkpoint(const Tensors& tensors, const std::string& key, const std::string& prefix) {
  std::string entries;
  std::string keys;
  std::string data;
  for (const auto& [name, tensor] : tensors) {
    Shape strides(tensor.shape.size(), 1);
    for (std::size_t axis = strides.size(); axis-- > 1;)
      strides[axis - 1] = strides[axis] * tensor.shape[axis];
    const std::int64_t elements = element_count(tensor.shape);
    entries += short_text(prefix + name) +
               rebuild(storage(elements, "FloatStorage", "N", name), 0, tensor.shape, strides);
    keys += short_text(name);
    data += count(elements) + tensor.bytes;
  }
  const std::string dict = "}(" + entries + "u";
  const std::string object =
      key.empty() ? dict : "}(" + short_text("epoch") + "K\7" + short_text(key) + dict + "u";
  return legacy("\x80\2" + object + ".", "\x80\2](" + keys + "e.", data);
}

std::string value_of(const CheckpointInfo& info, std::string_view key) {
  for (const ResolvedValue& value : info.resolved) {
    if (value.key == key) return value.value + " [" + value.source + "]";
  }
  return "";
}

void expect_equal_weights(const Checkpoint& got, const Checkpoint& want) {
  Weights expected = want.weights;
  std::map<std::string, std::vector<float>> values;
  for_each_tensor(want.info.config, expected, [&](const TensorSpec& spec, const WeightView& view) {
    values[spec.name].resize(static_cast<std::size_t>(view.size()));
    view.copy_to(values[spec.name].data());
  });
  Weights found = got.weights;
  for_each_tensor(got.info.config, found, [&](const TensorSpec& spec, const WeightView& view) {
    std::vector<float> tensor(static_cast<std::size_t>(view.size()));
    view.copy_to(tensor.data());
    EXPECT_EQ(tensor, values.at(spec.name)) << spec.name;
    values.erase(spec.name);
  });
  EXPECT_TRUE(values.empty());
}

TEST(TorchCheckpoint, LoadsAStateDictOrATrainingCheckpoint) {
  const EditableModel model("hf_vit_base");
  const Checkpoint want = load_checkpoint(EditableModel::folder_of("hf_vit_base"));
  const TempFolder folder;
  model.write(folder);
  std::filesystem::remove(folder / "model.safetensors");

  folder.write("pytorch_model.bin", checkpoint(model.tensors, "", ""));
  const Checkpoint plain = load_checkpoint(folder.path());
  EXPECT_EQ(plain.info.weight_files.at(0).filename(), "pytorch_model.bin");
  EXPECT_EQ(plain.info.stored_dtype, "F32");
  EXPECT_EQ(value_of(plain.info, "state dict"), "");
  expect_equal_weights(plain, want);

  std::filesystem::remove(folder / "pytorch_model.bin");
  folder.write("last.pth", checkpoint(model.tensors, "state_dict_ema", "module."));
  const Checkpoint wrapped = load_checkpoint(folder.path());
  EXPECT_EQ(value_of(wrapped.info, "state dict"), "state_dict_ema [last.pth]");
  expect_equal_weights(wrapped, want);
}

TEST(TorchCheckpoint, LoadsShards) {
  const EditableModel model("hf_vit_base");
  const TempFolder folder;
  model.write(folder);
  std::filesystem::remove(folder / "model.safetensors");
  std::map<std::string, Tensors> shards;
  nlohmann::json index = {{"weight_map", nlohmann::json::object()}};
  for (const auto& [name, tensor] : model.tensors) {
    shards[name.find("layer.1") == std::string::npos ? "a.bin" : "b.bin"][name] = tensor;
  }
  for (const auto& [shard, tensors] : shards) {
    folder.write(shard, checkpoint(tensors, "", ""));
    for (const auto& [name, tensor] : tensors) index["weight_map"][name] = shard;
  }
  ASSERT_EQ(shards.size(), 2U);
  const auto file = folder.write("pytorch_model.bin.index.json", index.dump());
  for (const auto& path : {folder.path(), file}) {
    const Checkpoint got = load_checkpoint(path);
    EXPECT_EQ(got.info.weight_files.size(), 2U);
    expect_equal_weights(got, load_checkpoint(EditableModel::folder_of("hf_vit_base")));
  }
}

TEST(TorchCheckpoint, ReportsWhatDoesNotFitAsForSafetensors) {
  EditableModel model("hf_vit_base");
  const TempFolder folder;
  model.write(folder);
  std::filesystem::remove(folder / "model.safetensors");
  model.tensors.erase("vit.layernorm.bias");
  const auto path = folder.write("x.pt", checkpoint(model.tensors, "model", ""));
  EXPECT_ERROR(load_checkpoint(path), ErrorCode::weights_invalid, "x.pt", "1 missing: vit.layernorm.bias");
}

}  // namespace
}  // namespace vit::io
