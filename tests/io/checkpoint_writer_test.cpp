// Folders that are written: the same bytes, the same network, and nothing lost.
#include "io/checkpoint_writer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "io/safetensors.hpp"
#include "tests/support/editable_model.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/temp_folder.hpp"

namespace vit::io {
namespace {

namespace fs = std::filesystem;
using test::EditableModel;
using test::TempFolder;

/// Every tensor of a folder's files, in one or in shards.
std::map<std::string, std::pair<std::string, std::string>> tensors_of(const fs::path& folder) {
  std::map<std::string, std::pair<std::string, std::string>> all;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("model") || entry.path().extension() != ".safetensors") continue;
    const SafetensorsFile file(entry.path());
    for (const StoredTensor& tensor : file.tensors())
      all[tensor.name] = {tensor.dtype + vit::to_string(tensor.shape), std::string(as_text(tensor.data))};
  }
  return all;
}

bool is_one_dtype(const Checkpoint& checkpoint) {
  return checkpoint.info.stored_dtype.find(',') == std::string::npos;
}

/// The folder, or the weights file in one that holds the expected tensors under a name that may be weights,
/// too.
fs::path source_of(const std::string& name) {
  const fs::path folder = EditableModel::folder_of(name);
  for (const auto& entry : fs::directory_iterator(folder)) {
    const fs::path ending = entry.path().extension();
    if (ending == ".pth" || ending == ".bin" || ending == ".npz") return entry.path();
  }
  return folder;
}

std::vector<std::string> model_names() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(EditableModel::folder_of(""))) {
    if (fs::exists(entry.path() / "expected.safetensors")) names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

class WrittenFolder : public testing::TestWithParam<std::string> {};

TEST_P(WrittenFolder, HasTheSameTensorsByteForByteAndIsTheSameNetwork) {
  const fs::path source = source_of(GetParam());
  const bool safetensors =
      fs::exists(source / "model.safetensors") || fs::exists(source / "model.safetensors.index.json");
  const TempFolder folder;
  const Checkpoint checkpoint = load_checkpoint(source);
  if (checkpoint.info.config.pre_logits_size > 0) {  // transformers has no class for it
    EXPECT_ERROR(write_checkpoint(checkpoint, folder / "out"), ErrorCode::model_unsupported,
                 "pre_logits_size");
    return;
  }
  const WriteReport report = write_checkpoint(checkpoint, folder / "out");
  EXPECT_GT(report.tensors, 0);
  const Checkpoint again = load_checkpoint(folder / "out");
  ModelConfig config = again.info.config;
  config.position_resampling = checkpoint.info.config.position_resampling;  // a library's own
  EXPECT_EQ(config, checkpoint.info.config);
  EXPECT_EQ(again.info.parameters, checkpoint.info.parameters);
  EXPECT_EQ(again.info.labels.size(), checkpoint.info.labels.size());
  for (std::int64_t i = 0; i < again.info.labels.size(); ++i)
    EXPECT_EQ(again.info.labels.name(i), checkpoint.info.labels.name(i));
  const bool same_form =
      checkpoint.info.family.starts_with("hf_") || checkpoint.info.family.starts_with("timm_");
  if (safetensors && same_form && is_one_dtype(checkpoint)) {
    EXPECT_EQ(tensors_of(folder / "out"), tensors_of(source));
  }
  // Whatever the form: the numbers are the same, bit for bit.
  Weights ours = checkpoint.weights;
  Weights theirs = again.weights;
  std::map<std::string, Tensor> expected;
  for_each_tensor(checkpoint.info.config, ours, [&](const TensorSpec& spec, WeightView& view) {
    expected.emplace(spec.name, view.to_tensor());
  });
  for_each_tensor(again.info.config, theirs, [&](const TensorSpec& spec, WeightView& view) {
    const Tensor got = view.to_tensor();
    const Tensor& wanted = expected.at(spec.name);
    ASSERT_EQ(got.size(), wanted.size()) << spec.name;
    EXPECT_EQ(std::memcmp(got.data(), wanted.data(), static_cast<std::size_t>(got.size()) * 4), 0)
        << spec.name;
  });
}

INSTANTIATE_TEST_SUITE_P(All, WrittenFolder, testing::ValuesIn(model_names()),
                         [](const auto& test) { return test.param; });

TEST(WriteCheckpoint, RoundsToTheDtypeAskedForAndSaysSo) {
  const TempFolder folder;
  const Checkpoint checkpoint = load_checkpoint(EditableModel::folder_of("hf_vit_base"));
  for (const auto& [dtype, stored, torch] :
       {std::tuple(DType::f16, "F16", "float16"), std::tuple(DType::bf16, "BF16", "bfloat16")}) {
    const fs::path out = folder / stored;
    write_checkpoint(checkpoint, out, {.dtype = dtype, .transformers = false, .overwrite = false});
    EXPECT_EQ(load_checkpoint(out).info.stored_dtype, stored);
    const auto config = nlohmann::json::parse(test::read_text(out / "config.json"));
    EXPECT_EQ(config.contains("torch_dtype") ? config["torch_dtype"] : config["dtype"], torch);
  }
  EditableModel large("hf_vit_base");
  auto& bias = large.tensors.at("classifier.bias");
  const float value = 70000;
  std::memcpy(bias.bytes.data(), &value, sizeof value);
  const TempFolder beyond;
  large.write(beyond);
  EXPECT_ERROR(write_checkpoint(load_checkpoint(beyond.path()), folder / "large",
                                {.dtype = DType::f16, .transformers = false, .overwrite = false}),
               ErrorCode::weights_invalid, "classifier.bias", "70000", "f16");
}

TEST(WriteCheckpoint, TensorsThatTheNetworkDoesNotUseGoAlong) {
  EditableModel model("hf_vit_base");
  model.add("vit.embeddings.mask_token", {1, 1, 48});
  const TempFolder source;
  model.write(source);
  const TempFolder folder;
  write_checkpoint(load_checkpoint(source.path()), folder / "out");
  EXPECT_TRUE(tensors_of(folder / "out").contains("vit.embeddings.mask_token"));
}

TEST(WriteCheckpoint, ATrainingToolsWrapperIsTakenOff) {
  EditableModel model("hf_vit_base");
  model.rename_all("", "module.");
  const TempFolder source;
  model.write(source);
  const TempFolder folder;
  write_checkpoint(load_checkpoint(source.path()), folder / "out");
  EXPECT_EQ(tensors_of(folder / "out"), tensors_of(EditableModel::folder_of("hf_vit_base")));
}

TEST(WriteCheckpoint, PicturesOfAnotherSizeAreInTheRecipe) {
  const LoadOptions larger{.architecture = {}, .image_size = Size2{48, 48}, .patch_size = {}, .labels = {}};
  const TempFolder folder;
  write_checkpoint(load_checkpoint(EditableModel::folder_of("hf_vit_base"), larger), folder / "out");
  EXPECT_EQ(load_preprocess_config(folder / "out").size, (Size2{48, 48}));
  EXPECT_ERROR(write_checkpoint(load_checkpoint(EditableModel::folder_of("timm_vit_qk_norm"), larger),
                                folder / "timm"),
               ErrorCode::model_unsupported, "picture size", "--to transformers");
}

TEST(WriteCheckpoint, AResizedPatchEmbeddingOnlyInAFormThatCanSayIt) {
  const LoadOptions finer{.architecture = {}, .image_size = {}, .patch_size = Size2{4, 4}, .labels = {}};
  const TempFolder folder;
  const Checkpoint resized = load_checkpoint(EditableModel::folder_of("timm_vit_dynamic_down"), finer);
  EXPECT_ERROR(write_checkpoint(resized, folder / "timm"), ErrorCode::model_unsupported, "patch");
  write_checkpoint(resized, folder / "hf", {.dtype = {}, .transformers = true, .overwrite = false});
  const Checkpoint again = load_checkpoint(folder / "hf");
  EXPECT_EQ(again.info.config.patch_size, (Size2{4, 4}));
  const Tensor kernel = again.weights.patch_embed.weight.to_tensor();
  const Tensor expected = resized.weights.patch_embed.weight.to_tensor();
  ASSERT_EQ(kernel.shape(), expected.shape());
  EXPECT_TRUE(std::equal(kernel.data(), kernel.data() + kernel.size(), expected.data()));
}

TEST(WriteCheckpoint, ReplacesNothingUnasked) {
  const TempFolder folder;
  folder.write("config.json", "precious");
  const Checkpoint checkpoint = load_checkpoint(EditableModel::folder_of("hf_vit_base"));
  EXPECT_ERROR(write_checkpoint(checkpoint, folder.path()), ErrorCode::output_unwritable, "config.json",
               "--force");
  EXPECT_EQ(test::read_text(folder / "config.json"), "precious");
  EXPECT_FALSE(fs::exists(folder / "model.safetensors"));
  write_checkpoint(checkpoint, folder.path(), {.dtype = {}, .transformers = false, .overwrite = true});
  EXPECT_EQ(load_checkpoint(folder.path()).info.family, "hf_vit");
  // Over itself: what is read stays mapped while it is replaced.
  write_checkpoint(load_checkpoint(folder.path()), folder.path(),
                   {.dtype = {}, .transformers = false, .overwrite = true});
  EXPECT_EQ(tensors_of(folder.path()), tensors_of(EditableModel::folder_of("hf_vit_base")));
}

TEST(WriteCheckpoint, TransformersFormOnlyOfWhatItHas) {
  const TempFolder folder;
  const WriteOptions to_transformers{.dtype = {}, .transformers = true, .overwrite = false};
  EXPECT_ERROR(write_checkpoint(load_checkpoint(EditableModel::folder_of("timm_vit_qk_norm")), folder / "a",
                                to_transformers),
               ErrorCode::model_unsupported, "transformers has no", "qk_norm");
  EXPECT_FALSE(fs::exists(folder / "a"));
  const Checkpoint plain = load_checkpoint(EditableModel::folder_of("timm_vit_dynamic_down"));
  const WriteReport report = write_checkpoint(plain, folder / "b", to_transformers);
  EXPECT_THAT(report.notes, testing::Contains(testing::HasSubstr("position embeddings")));
  EXPECT_EQ(load_checkpoint(folder / "b").info.family, "hf_vit");
  EXPECT_TRUE(load_checkpoint(folder / "b").info.recipe);
}

}  // namespace
}  // namespace vit::io
