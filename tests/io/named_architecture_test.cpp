// Architectures by their names: what is in the tables, and the networks that they describe.
#include "io/named_architecture.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <vector>

#include "io/checkpoint.hpp"
#include "io/family.hpp"
#include "io/timm_architectures.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/temp_folder.hpp"

namespace vit::io {
namespace {

using testing::HasSubstr;
using testing::Not;

/// tests/data/make_architectures.py's: names and shapes, sorted.
std::string hash_of(const std::vector<TensorSpec>& tensors) {
  std::vector<std::string> lines;
  for (const TensorSpec& tensor : tensors)
    lines.push_back(fmt::format("{} {}\n", tensor.name, fmt::join(tensor.shape, ",")));
  std::sort(lines.begin(), lines.end(), [](const std::string& a, const std::string& b) {
    return a.substr(0, a.find(' ')) < b.substr(0, b.find(' '));
  });
  std::uint64_t hash = 0xCBF29CE484222325;  // FNV-1a
  for (const std::string& line : lines) {
    for (const char c : line) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3;
  }
  return fmt::format("{:016x}", hash);
}

struct Row {
  std::string name;
  std::int64_t parameters = 0;
  std::size_t tensors = 0;
  std::string hash;
};

std::vector<Row> table() {
  std::istringstream text(test::read_text(VITRINE_TEST_DATA "/architectures.tsv"));
  std::vector<Row> rows;
  for (Row row; text >> row.name >> row.parameters >> row.tensors >> row.hash;) rows.push_back(row);
  return rows;
}

TEST(DescribeArchitecture, AgreesWithTheCodeThatEveryNetworkComesFrom) {
  const std::vector<Row> rows = table();
  ASSERT_EQ(rows.size(), timm_architectures().size() + 20);
  for (const Row& row : rows) {
    const CheckpointInfo info = describe_architecture(row.name);
    EXPECT_EQ(info.parameters, row.parameters) << row.name;
    EXPECT_EQ(info.tensors.size(), row.tensors) << row.name;
    EXPECT_EQ(hash_of(info.tensors), row.hash) << row.name;
    EXPECT_TRUE(info.recipe) << row.name;
    EXPECT_EQ(info.labels.size(), info.config.num_classes) << row.name;
  }
}

TEST(DescribeArchitecture, TellsTensorsApart) {
  std::vector<TensorSpec> tensors = describe_architecture("vit_tiny_patch16_224").tensors;
  const std::string right = hash_of(tensors);
  std::swap(tensors[0], tensors[1]);
  EXPECT_EQ(hash_of(tensors), right);
  std::swap(tensors[2].shape[0], tensors[2].shape[1]);
  EXPECT_NE(hash_of(tensors), right);
}

TEST(NamedConfig, HasEveryArchitectureAndTag) {
  std::size_t names = 0;
  for (const Family* family : families()) {
    for (const NamedArchitecture& row : family->architectures) {
      const Json config = named_config(row.name);
      EXPECT_EQ(config.at("architecture"), row.name);
      EXPECT_TRUE(config.at("model_args").is_object()) << row.name;
      EXPECT_TRUE(config.at("preset").is_object()) << row.name;
      EXPECT_TRUE(describe_architecture(std::string(row.name)).recipe) << row.name;
      ++names;
    }
  }
  EXPECT_EQ(names, 25U);
  for (const TimmPretrained& row : timm_pretrained()) {
    const std::string name =
        row.tag.empty() ? std::string(row.architecture) : fmt::format("{}.{}", row.architecture, row.tag);
    const Json config = named_config(name);
    EXPECT_EQ(config.at("architecture"), name);
    EXPECT_EQ(config.at("pretrained_cfg"), parse_json_object(row.cfg, name)) << name;
    EXPECT_TRUE(describe_architecture(name).recipe) << name;
  }
  for (const TimmArchitecture& row : timm_architectures())
    EXPECT_TRUE(named_config(row.name).contains("pretrained_cfg")) << row.name;
}

TEST(NamedConfig, WithoutATagMeansTheDefaultWeights) {
  EXPECT_EQ(named_config("vit_base_patch16_224").at("architecture"),
            "vit_base_patch16_224.augreg2_in21k_ft_in1k");
  EXPECT_EQ(describe_architecture("vit_base_patch16_224.augreg_in21k").config.num_classes, 21843);
  EXPECT_EQ(describe_architecture("vit_base_patch16_224.mae").config.num_classes, 0);
}

TEST(NamedConfig, KnowsFormerNames) {
  ASSERT_FALSE(timm_former_names().empty());
  for (const TimmFormerName& former : timm_former_names()) {
    if (former.current.ends_with(".sam")) continue;  // timm itself has no more weights of that tag
    EXPECT_EQ(named_config(former.name), named_config(former.current)) << former.name;
  }
  EXPECT_ERROR(named_config("vit_base_patch16_224_sam"), ErrorCode::model_unsupported, "sam_in1k");
  EXPECT_EQ(named_config("vit_tiny_patch16_224_in21k").at("architecture"),
            "vit_tiny_patch16_224.augreg_in21k");
}

TEST(NamedConfig, SaysWhatIsNearAnUnknownName) {
  EXPECT_ERROR(named_config("vit_base_patch16_244"), ErrorCode::model_unsupported,
               "--arch vit_base_patch16_244", "near it: vit_base_patch16_224");
  EXPECT_ERROR(named_config("dinov2_vits15"), ErrorCode::model_unsupported, "dinov2_vits14");
  EXPECT_ERROR(named_config("dinov3_vits16.lvd"), ErrorCode::model_unsupported, "dinov3_vits16");
  EXPECT_ERROR(named_config("vit_b_16.swag"), ErrorCode::model_unsupported, "vit_b_16");
  EXPECT_ERROR(named_config(""), ErrorCode::model_unsupported, "no such architecture");
  EXPECT_ERROR(named_config("VIT_BASE_PATCH16_224"), ErrorCode::model_unsupported, "no such architecture");
  EXPECT_ERROR(named_config(std::string(100000, 'x')), ErrorCode::model_unsupported, "no such architecture");
}

TEST(NamedConfig, SaysWhichTagsThereAre) {
  EXPECT_ERROR(named_config("vit_base_patch16_224.imagenet"), ErrorCode::model_unsupported, "no such weights",
               "augreg2_in21k_ft_in1k", "augreg_in21k", "mae");
  EXPECT_ERROR(named_config("vit_wee_patch16_reg1_gap_256.none"), ErrorCode::model_unsupported, "sbb_in1k");
}

TEST(DescribeArchitecture, NamesClassesOfImagenet) {
  EXPECT_EQ(describe_architecture("vit_b_16").labels.name(281), "tabby, tabby cat");
  EXPECT_EQ(describe_architecture("vit_base_patch16_224").labels.name(0), "tench, Tinca tinca");
  EXPECT_EQ(describe_architecture("dinov2_vits14").labels.size(), 0);
}

TEST(DescribeArchitecture, SaysHowItsAuthorsPreparePictures) {
  EXPECT_THAT(describe(*describe_architecture("vit_b_16").recipe), HasSubstr("256"));
  EXPECT_EQ(describe_architecture("vit_b_16").recipe->interpolation, Interpolation::bilinear);
  EXPECT_EQ(describe_architecture("vit_b_16").recipe->edge, 256);
  EXPECT_EQ(describe_architecture("vit_b_16.swag_e2e").recipe->crop, (Size2{384, 384}));
  EXPECT_EQ(describe_architecture("vit_l_16").recipe->edge, 242);
  EXPECT_EQ(describe_architecture("vit_h_14.swag_linear").recipe->interpolation, Interpolation::bicubic);
  const PreprocessConfig dinov2 = *describe_architecture("dinov2_vitg14_reg").recipe;
  EXPECT_EQ(dinov2.edge, 256);
  EXPECT_EQ(dinov2.crop, (Size2{224, 224}));
  EXPECT_EQ(dinov2.interpolation, Interpolation::bicubic);
  const PreprocessConfig dinov3 = *describe_architecture("dinov3_vith16plus").recipe;
  EXPECT_EQ(dinov3.resize, ResizeMode::exact);
  EXPECT_EQ(dinov3.size, (Size2{256, 256}));
  EXPECT_FALSE(dinov3.crop);
}

}  // namespace
}  // namespace vit::io
