#include "io/embedder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <numeric>

#include "io/inputs.hpp"
#include "io/safetensors.hpp"
#include "tests/support/compare.hpp"
#include "tests/support/editable_model.hpp"
#include "tests/support/expect_error.hpp"

namespace vit::io {
namespace {

using test::EditableModel;
using test::TempFolder;

const std::string kData = VITRINE_TEST_DATA;
const std::string kBoot = VITRINE_DATA "/images/fashion-mnist/0000-ankle-boot.png";

std::shared_ptr<const PictureModel> load(const std::filesystem::path& path) {
  return std::make_shared<PictureModel>(load_checkpoint(path));
}

std::shared_ptr<const PictureModel> shipped() {
  return load(VITRINE_DATA "/models/fashion-mnist-vit");
}

Embedding embed(const std::shared_ptr<const PictureModel>& model, const EmbeddingOptions& options,
                const std::string& picture) {
  std::vector<Input> inputs;
  inputs.push_back({.name = picture});
  return std::move(EmbeddingSession(model, options).embed(std::move(inputs), 1).front());
}

double length(std::span<const float> x) {
  return std::sqrt(std::inner_product(x.begin(), x.end(), x.begin(), 0.0));
}

/// tests/data/embeddings: what transformers and timm give for a picture.
class EmbedderGolden : public testing::TestWithParam<std::string> {};

TEST_P(EmbedderGolden, EveryPooling) {
  const std::string& name = GetParam();
  TempFolder folder;
  EditableModel model(name);
  std::string picture = kData + "/models/" + name + "/image.png";
  if (!std::filesystem::exists(picture)) {
    picture = kData + "/models/hf_vit_base/image.png";
    model.recipe = EditableModel("hf_vit_base").recipe;
  }
  model.write(folder);
  const auto loaded = load(folder.path());
  const SafetensorsFile expected(kData + "/embeddings/" + name + ".safetensors");
  for (const EmbeddingPool pool :
       {EmbeddingPool::features, EmbeddingPool::cls, EmbeddingPool::mean, EmbeddingPool::patches}) {
    const std::string key(to_string(pool));
    if (expected.find(key) == nullptr) {
      EXPECT_ERROR(EmbeddingSession(loaded, {pool}), ErrorCode::invalid_argument, "no class token");
      continue;
    }
    const Embedding embedding = embed(loaded, {pool}, picture);
    ASSERT_FALSE(embedding.error) << embedding.error->what();
    EXPECT_TRUE(test::matches(key, embedding.values.view(), expected.read(key).view(), {1e-5}));
  }
}

INSTANTIATE_TEST_SUITE_P(Models, EmbedderGolden,
                         testing::Values("hf_vit_base", "hf_vit_model_pooler_relu", "hf_deit_teacher",
                                         "hf_dinov2_reg_larger", "hf_clip", "hf_ijepa", "timm_vit_map",
                                         "timm_vit_reg4_gap"),
                         [](const auto& model) { return model.param; });

TEST(Embedder, NormalizesEachVector) {
  const auto model = shipped();
  for (const EmbeddingPool pool : {EmbeddingPool::features, EmbeddingPool::patches}) {
    const Embedding plain = embed(model, {pool}, kBoot);
    const Embedding unit = embed(model, {pool, true}, kBoot);
    const auto D = static_cast<std::size_t>(plain.values.shape().back());
    ASSERT_EQ(unit.values.shape(), plain.values.shape());
    for (std::size_t at = 0; at < plain.values.elements().size(); at += D) {
      const std::span<const float> x = plain.values.elements().subspan(at, D);
      const std::span<const float> u = unit.values.elements().subspan(at, D);
      const double norm = length(x);
      for (std::size_t i = 0; i < D; ++i) EXPECT_NEAR(u[i], x[i] / norm, 1e-6);
    }
  }
}

TEST(Embedder, OnlyTheModelsOwnFeaturesGoWithMergedTokens) {
  const auto model = shipped();
  EXPECT_FALSE(embed(model, {.merge = 3}, kBoot).error);
  EXPECT_ERROR(EmbeddingSession(model, {.pool = EmbeddingPool::mean, .merge = 3}),
               ErrorCode::invalid_argument, "pooling mean: merged tokens");
}

TEST(Embedder, InfinityIsAnErrorOfThePicture) {
  EditableModel model("hf_vit_base");
  for (auto& [name, tensor] : model.tensors)
    if (name.ends_with("layernorm.bias")) tensor.bytes.replace(0, 4, std::string("\x00\x00\x80\x7f", 4));
  const TempFolder folder;
  model.write(folder);
  const Embedding embedding = embed(load(folder.path()), {}, kBoot);
  ASSERT_TRUE(embedding.error);
  EXPECT_EQ(embedding.error->code(), ErrorCode::not_finite);
  EXPECT_THAT(embedding.error->what(), testing::HasSubstr(kBoot));
}

TEST(Embedder, ABulkRunIsInOrderAndFailsAlone) {
  const auto model = shipped();
  const std::vector<std::string> names{kBoot, "no such file", VITRINE_DATA "/images/fashion-mnist", kBoot};
  for (const int cores : {1, 3}) {
    InputSource inputs(names, {});
    std::vector<Embedding> all;
    embed_pictures(model, {}, inputs, {.cores = cores}, [&](Embedding e) { all.push_back(std::move(e)); });
    ASSERT_EQ(all.size(), 13U);
    EXPECT_EQ(all[1].error->code(), ErrorCode::image_not_found);
    for (const std::size_t same : {2U, 12U})
      EXPECT_TRUE(test::matches("boot", all[same].values.view(), all[0].values.view(), {1e-6}));
  }
}

TEST(Embedder, TheTestPictureTellsModelsApart) {
  const auto model = shipped();
  const std::vector<float> one = embed_test_picture(model, {}, 1);
  EXPECT_EQ(one, embed_test_picture(shipped(), {}, 1));
  EXPECT_NE(one, embed_test_picture(model, {EmbeddingPool::mean}, 1));
}

}  // namespace
}  // namespace vit::io
