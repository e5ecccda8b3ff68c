// Which network weights belong to: their own config.json, a name, or what the tensors show; and what a user
// says besides.
#include "io/model_source.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "io/checkpoint.hpp"
#include "tests/io/torch_bytes.hpp"
#include "tests/support/editable_model.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/temp_folder.hpp"

namespace vit::io {
namespace {

using test::EditableModel;
using test::TempFolder;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

Checkpoint load(const EditableModel& model, const LoadOptions& options = {}) {
  const TempFolder folder;
  model.write(folder);
  return load_checkpoint(folder.path(), options);
}

CheckpointInfo info_of(const std::string& model, const LoadOptions& options = {}) {
  return load_checkpoint(EditableModel::path_of(model), options).info;
}

std::string source_of(const CheckpointInfo& info, std::string_view key) {
  for (const ResolvedValue& value : info.resolved) {
    if (value.key == key) return value.value + " [" + value.source + "]";
  }
  return "";
}

/// A file of zeros that takes no room on the disk.
std::filesystem::path write_zeros(const TempFolder& folder, const std::vector<TensorSpec>& tensors) {
  nlohmann::json header = nlohmann::json::object();
  std::int64_t size = 0;
  for (const TensorSpec& t : tensors) {
    const std::int64_t bytes = 4 * element_count(t.shape);
    header[t.name] = {{"dtype", "F32"}, {"shape", t.shape}, {"data_offsets", {size, size + bytes}}};
    size += bytes;
  }
  const std::string text = header.dump();
  const std::uint64_t length = text.size();
  std::string begin(8, '\0');
  std::memcpy(begin.data(), &length, 8);
  const auto path = folder.write("model.safetensors", begin + text);
  std::filesystem::resize_file(path, 8 + length + static_cast<std::uint64_t>(size));
  return path;
}

std::vector<TensorSpec> tensors_of(const std::string& architecture) {
  return describe_architecture(architecture).tensors;
}

TensorSpec& tensor(std::vector<TensorSpec>& tensors, const std::string& name) {
  return *std::find_if(tensors.begin(), tensors.end(), [&](const TensorSpec& t) { return t.name == name; });
}

// ------------------------------------------------------------------------------------------------ releases

TEST(Releases, AreRecognisedByTheirTensors) {
  for (const auto& [model, family] :
       {std::pair("dinov2_larger", "dinov2"), std::pair("dinov2_swiglu_reg", "dinov2"),
        std::pair("dinov3_mlp", "dinov3"), std::pair("dinov3_no_qkv_bias", "dinov3"),
        std::pair("google_vit", "google_vit"), std::pair("google_vit_headless", "google_vit")}) {
    const CheckpointInfo info = info_of(model);
    EXPECT_EQ(info.family, family) << model;
    EXPECT_THAT(info.notes, Contains(AllOf(HasSubstr("no config.json"), HasSubstr(family)))) << model;
    EXPECT_TRUE(info.recipe) << model;
  }
  EXPECT_EQ(info_of("tv_vit_eps6").family, "torchvision_vit");
}

TEST(Releases, SayWhereEachSizeComesFrom) {
  const CheckpointInfo info = info_of("dinov2_swiglu_reg");
  EXPECT_EQ(source_of(info, "embed_dim"), "64 [shape of patch_embed.proj.weight]");
  EXPECT_EQ(source_of(info, "depth"), "2 [number of blocks.*.norm1.weight]");
  EXPECT_EQ(source_of(info, "num_heads"), "1 [the releases of this width]");
  EXPECT_EQ(source_of(info, "img_size"), "[70, 70] [rows of pos_embed]");
  EXPECT_THAT(info.ignored, ElementsAre("mask_token"));
  EXPECT_THAT(info_of("dinov3_mlp").ignored,
              ElementsAre("blocks.0.attn.qkv.bias_mask", "blocks.1.attn.qkv.bias_mask", "mask_token",
                          "rope_embed.periods"));
}

TEST(Releases, TakeWhatAConfigSaysBesides) {
  EditableModel model("dinov2_larger");
  EXPECT_EQ(load(model).info.config.num_heads, 1);
  model.config = {{"model_args", {{"num_heads", 4}}}};
  EXPECT_EQ(load(model).info.config.num_heads, 4);
  EXPECT_EQ(source_of(load(model).info, "num_heads"), "4 [config.json]");
  model.config = {{"model_args", {{"depth", 1}}}};
  EXPECT_ERROR(load(model), ErrorCode::weights_invalid, "no place for", "blocks.1.norm1.weight");
  model.config = {{"model_args", {{"depth", "two"}}}};
  EXPECT_ERROR(load(model), ErrorCode::config_invalid, "depth");
  model.config = {{"model_args", 3}};
  EXPECT_ERROR(load(model), ErrorCode::config_invalid, "model_args");
}

TEST(Releases, OfAWidthThatNoReleaseHasMustSayTheirHeads) {
  EditableModel model("tv_vit_eps6");
  model.config.clear();
  EXPECT_ERROR(load(model), ErrorCode::config_invalid, "num_heads", "\"model_args\"");
  model.config = {{"model_args", {{"num_heads", 3}}}};
  EXPECT_EQ(load(model).info.config.num_heads, 3);
}

TEST(Releases, MissNoTensorSilently) {
  for (const char* name : {"dinov2_larger", "dinov2_swiglu_reg", "dinov3_mlp", "dinov3_swiglu", "google_vit",
                           "google_vit_pre_logits_larger"}) {
    const EditableModel whole(name);
    const CheckpointInfo info = load(whole).info;
    for (const TensorSpec& spec : info.tensors) {
      if (spec.name == "register_tokens") continue;  // there are networks without
      EditableModel model = whole;
      model.tensors.erase(spec.name);
      try {
        load(model);
        ADD_FAILURE() << name << " without " << spec.name << " loads";
      } catch (const Error& error) {
        const bool about_weights = error.code() == ErrorCode::weights_invalid ||
                                   error.code() == ErrorCode::config_invalid ||
                                   error.code() == ErrorCode::model_not_found;
        EXPECT_TRUE(about_weights) << name << " without " << spec.name << ": " << error.what();
      }
    }
  }
}

TEST(Releases, HybridNetworksAreRefusedByName) {
  EditableModel model("google_vit");
  model.add("conv_root/kernel", {7, 7, 3, 64});
  EXPECT_ERROR(load(model), ErrorCode::model_unsupported, "hybrid", "conv_root/kernel");
}

// ------------------------------------------------------------------------------------------------ timm, by
// tensors

TEST(RecognisedTimm, OneNetworkOfSeveralNamesLoadsWithoutARecipe) {
  const TempFolder folder;
  write_zeros(folder, tensors_of("vit_tiny_patch16_224"));
  const CheckpointInfo info = load_checkpoint(folder.path()).info;
  EXPECT_EQ(info.family, "timm_vit");
  EXPECT_EQ(info.parameters, describe_architecture("vit_tiny_patch16_224").parameters);
  EXPECT_THAT(info.notes,
              Contains(AllOf(HasSubstr("deit_tiny_patch16_224"), HasSubstr("vit_tiny_patch16_224"))));
  ASSERT_TRUE(info.recipe_error);
  EXPECT_THAT(info.recipe_error->what(),
              AllOf(HasSubstr("--arch NAME.TAG"), HasSubstr("vit_tiny_patch16_224")));
  EXPECT_EQ(info.labels.name(281), "tabby, tabby cat");

  const CheckpointInfo named = load_checkpoint(folder.path(), {.architecture = "deit_tiny_patch16_224"}).info;
  EXPECT_TRUE(named.recipe);
  EXPECT_EQ(named.config, info.config);
}

TEST(RecognisedTimm, SeveralNetworksAreAnErrorThatListsThem) {
  const TempFolder folder;
  write_zeros(folder, tensors_of("vit_base_patch32_clip_quickgelu_224"));
  EXPECT_ERROR(load_checkpoint(folder.path()), ErrorCode::model_not_found, "model.safetensors", "--arch NAME",
               "vit_base_patch32_clip_224", "vit_base_patch32_clip_quickgelu_224");
  const CheckpointInfo named =
      load_checkpoint(folder.path(), {.architecture = "vit_base_patch32_clip_quickgelu_224"}).info;
  EXPECT_EQ(named.config.activation, Activation::quick_gelu);
}

TEST(RecognisedTimm, OneTensorTooManyOrTooFewIsNothingThatIsKnown) {
  const TempFolder folder;
  std::vector<TensorSpec> tensors = tensors_of("vit_tiny_patch16_224");
  tensors.push_back({"blocks.0.attn.extra", {3}});
  write_zeros(folder, tensors);
  EXPECT_ERROR(load_checkpoint(folder.path()), ErrorCode::model_not_found, "--arch NAME");
  tensors.pop_back();
  tensors.pop_back();
  write_zeros(folder, tensors);
  EXPECT_ERROR(load_checkpoint(folder.path()), ErrorCode::model_not_found, "--arch NAME");
  EXPECT_ERROR(load_checkpoint(folder.path(), {.architecture = "vit_tiny_patch16_224"}),
               ErrorCode::weights_invalid, "1 missing: head.bias");
}

TEST(RecognisedTimm, ACheckpointAsDeitsAuthorsPublishItIsDeit) {
  using namespace torch_bytes;
  constexpr std::int64_t kLargest = 1000 * 192;  // they all share one storage
  std::string entries;
  for (const TensorSpec& t : tensors_of("deit_tiny_patch16_224")) {
    Shape strides(t.shape.size(), 1);
    for (std::size_t axis = strides.size(); axis-- > 1;) strides[axis - 1] = strides[axis] * t.shape[axis];
    entries += short_text(t.name) + rebuild(storage(kLargest, "FloatStorage", "N", "0"), 0, t.shape, strides);
  }
  const std::string data = count(kLargest) + std::string(4 * kLargest, '\0');
  const std::string dict = "}(" + entries + "u";
  const TempFolder folder;
  const auto path = folder.write("deit.pth", legacy("\x80\2}" + short_text("model") + dict + "s.",
                                                    "\x80\2](" + short_text("0") + "e.", data));
  const CheckpointInfo info = load_checkpoint(path).info;
  EXPECT_THAT(info.architecture, HasSubstr("deit_tiny_patch16_224"));
  EXPECT_TRUE(info.recipe);
  EXPECT_THAT(info.notes, Contains(HasSubstr("DeiT's authors")));

  const auto bare =
      folder.write("bare.pth", legacy("\x80\2" + dict + ".", "\x80\2](" + short_text("0") + "e.", data));
  EXPECT_TRUE(load_checkpoint(bare).info.recipe_error);
}

TEST(Unrecognised, SaysWhatToDo) {
  EditableModel model("hf_vit_base");
  model.config.clear();
  EXPECT_ERROR(load(model), ErrorCode::model_not_found, "config.json", "--arch NAME");
  model.tensors.clear();
  EXPECT_ERROR(load(model), ErrorCode::model_not_found, "config.json");
}

// ------------------------------------------------------------------------------------------------ --arch

TEST(Arch, TakesClassesAndPositionsFromTheWeights) {
  const TempFolder folder;
  std::vector<TensorSpec> tensors = tensors_of("vit_tiny_patch16_224");
  tensor(tensors, "head.weight").shape = {7, 192};
  tensor(tensors, "head.bias").shape = {7};
  tensor(tensors, "pos_embed").shape = {1, 24 * 24 + 1, 192};
  write_zeros(folder, tensors);
  const CheckpointInfo info = load_checkpoint(folder.path(), {.architecture = "vit_tiny_patch16_224"}).info;
  EXPECT_EQ(info.config.num_classes, 7);
  EXPECT_EQ(info.config.image_size, (Size2{384, 384}));
  EXPECT_EQ(source_of(info, "img_size"), "[384, 384] [rows of pos_embed]");
  EXPECT_EQ(info.labels.name(6), "LABEL_6");
  EXPECT_EQ(info.recipe->crop, (Size2{224, 224}));  // as the name's weights were trained

  tensor(tensors, "pos_embed").shape = {1, 200, 192};  // no square
  write_zeros(folder, tensors);
  EXPECT_ERROR(load_checkpoint(folder.path(), {.architecture = "vit_tiny_patch16_224"}),
               ErrorCode::weights_invalid, "pos_embed (expected [1, 197, 192], found [1, 200, 192])");
}

TEST(Arch, WithoutAHeadIsAFeatureExtractor) {
  const TempFolder folder;
  std::vector<TensorSpec> tensors = tensors_of("vit_tiny_patch16_224");
  std::erase_if(tensors, [](const TensorSpec& t) { return t.name.starts_with("head."); });
  write_zeros(folder, tensors);
  const CheckpointInfo info = load_checkpoint(folder.path(), {.architecture = "vit_tiny_patch16_224"}).info;
  EXPECT_EQ(info.config.num_classes, 0);
  EXPECT_EQ(info.labels.size(), 0);
}

TEST(Arch, OfTorchvisionAndDinov2ToldFromTheirWeights) {
  const TempFolder folder;
  std::vector<TensorSpec> tensors = tensors_of("vit_b_32");
  tensor(tensors, "heads.head.weight").shape = {5, 768};
  tensor(tensors, "heads.head.bias").shape = {5};
  tensor(tensors, "encoder.pos_embedding").shape = {1, 12 * 12 + 1, 768};
  write_zeros(folder, tensors);
  for (const LoadOptions& options : {LoadOptions{}, LoadOptions{.architecture = "vit_b_32"}}) {
    const CheckpointInfo info = load_checkpoint(folder.path(), options).info;
    EXPECT_EQ(info.config.num_classes, 5);
    EXPECT_EQ(info.config.num_heads, 12);
    EXPECT_EQ(info.config.image_size, (Size2{384, 384}));
    EXPECT_TRUE(info.recipe);
  }
  EXPECT_ERROR(load_checkpoint(folder.path(), {.architecture = "vit_l_32"}), ErrorCode::weights_invalid,
               "conv_proj.weight (expected [1024, 3, 32, 32], found [768, 3, 32, 32])");

  const TempFolder dinov2;
  write_zeros(dinov2, tensors_of("dinov2_vits14_reg"));
  EXPECT_EQ(load_checkpoint(dinov2.path()).info.config,
            load_checkpoint(dinov2.path(), {.architecture = "dinov2_vits14_reg"}).info.config);
  EXPECT_ERROR(load_checkpoint(dinov2.path(), {.architecture = "dinov2_vits14"}), ErrorCode::weights_invalid,
               "no place for: register_tokens");
}

TEST(Arch, IsReadInPlaceOfConfigJson) {
  EXPECT_ERROR(info_of("timm_vit_qk_norm", {.architecture = "vit_tiny_patch16_224"}),
               ErrorCode::weights_invalid, "patch_embed.proj.weight (expected [192, 3, 16, 16]");
  EXPECT_ERROR(info_of("hf_vit_base", {.architecture = "vit_tiny_patch16_224"}), ErrorCode::weights_invalid,
               "no tensor fits");
  EXPECT_ERROR(info_of("hf_vit_base", {.architecture = "no_such"}), ErrorCode::model_unsupported,
               "--arch no_such");
}

TEST(Arch, OfTimmReadsGooglesFiles) {
  const EditableModel google("google_vit");
  EXPECT_ERROR(load(google, {.architecture = "vit_tiny_patch16_224"}), ErrorCode::weights_invalid,
               "embedding/kernel (expected [16, 16, 3, 192], found [8, 8, 3, 48])");
}

// ------------------------------------------------------------------------------------------------ the other
// options

TEST(ImageSize, ScalesTheRecipe) {
  const CheckpointInfo plain = info_of("timm_vit_qk_norm");
  const CheckpointInfo larger = info_of("timm_vit_qk_norm", {.image_size = Size2{64, 96}});
  EXPECT_EQ(larger.recipe->output_size({480, 640}), (Size2{64, 96}));
  EXPECT_EQ(larger.config, plain.config);
  EXPECT_THAT(describe(larger), HasSubstr("resampled"));
  EXPECT_THAT(describe(plain), Not(HasSubstr("resampled")));
  EXPECT_EQ(load_preprocess_config(EditableModel::path_of("timm_vit_qk_norm"), {.image_size = Size2{64, 96}})
                .output_size({480, 640}),
            (Size2{64, 96}));
}

TEST(ImageSize, MustFitTheNetwork) {
  EXPECT_ERROR(info_of("timm_vit_qk_norm", {.image_size = Size2{7, 64}}), ErrorCode::invalid_argument,
               "7x64 pixels");
  const CheckpointInfo beit = info_of("timm_beit");
  const Size2 other{beit.config.image_size.height + beit.config.patch_size.height,
                    beit.config.image_size.width};
  if (beit.config.relative_resampling == RelativeResampling::none) {
    EXPECT_ERROR(info_of("timm_beit", {.image_size = other}), ErrorCode::invalid_argument,
                 "relative positions");
  } else {
    EXPECT_EQ(info_of("timm_beit", {.image_size = other}).recipe->output_size({9, 9}), other);
  }
}

TEST(PatchSize, HoldsForANameWithoutWeights) {
  const CheckpointInfo info = describe_architecture("vit_b_16", {.patch_size = Size2{8, 8}});
  EXPECT_EQ(info.config.patch_size, (Size2{8, 8}));
  EXPECT_EQ(info.config.image_size, (Size2{112, 112}));
  EXPECT_ERROR(describe_architecture("vit_b_16", {.patch_size = Size2{0, 8}}), ErrorCode::invalid_argument,
               "0x8 pixels");
}

TEST(LabelFile, TakesThePlaceOfTheModelsNames) {
  const TempFolder folder;
  const auto file = folder.write("labels.txt",
                                 "\xEF\xBB\xBF"
                                 "a\r\nb\nc\nd\ne\nf\nthe last");
  const CheckpointInfo info = info_of("hf_vit_base", {.labels = file});
  EXPECT_EQ(info.labels.name(0), "a");
  EXPECT_EQ(info.labels.name(6), "the last");
  folder.write("labels.txt", "a\nb\n");
  EXPECT_ERROR(info_of("hf_vit_base", {.labels = file}), ErrorCode::invalid_argument, "labels.txt",
               "2 labels", "7 classes");
  EXPECT_ERROR(info_of("hf_dinov2_model", {.labels = file}), ErrorCode::invalid_argument, "2 labels",
               "0 classes");
  folder.write("labels.txt", "a\n\nc\nd\ne\nf\ng\n");
  EXPECT_ERROR(info_of("hf_vit_base", {.labels = file}), ErrorCode::invalid_argument, "line 2 is empty");
  folder.write("labels.txt", "a\nb\xFF\nc\nd\ne\nf\ng\n");
  EXPECT_ERROR(info_of("hf_vit_base", {.labels = file}), ErrorCode::invalid_argument, "line 2 is not UTF-8");
  EXPECT_ERROR(info_of("hf_vit_base", {.labels = folder / "none.txt"}), ErrorCode::invalid_argument,
               "none.txt");
}

TEST(PreprocessConfigOfAName, NeedsNoWeights) {
  EXPECT_EQ(load_preprocess_config({}, {.architecture = "vit_b_16"}).edge, 256);
  const PreprocessConfig larger =
      load_preprocess_config({}, {.architecture = "vit_b_16", .image_size = Size2{384, 384}});
  EXPECT_EQ(larger.crop, (Size2{384, 384}));
  EXPECT_EQ(larger.edge, 439);
}

}  // namespace
}  // namespace vit::io
