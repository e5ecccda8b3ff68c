// oneDNN falls back to its reference kernels without a word, a hundred times slower. Not with shapes that
// people use.
#include <gtest/gtest.h>

#include <iosfwd>
#include <memory>
#include <ostream>
#include <string>
#include <tuple>

#include "vit/backend/precision_support.hpp"
#include "vit/session.hpp"

namespace vit::test {
namespace {

struct PublishedShape {
  const char* name;
  std::int64_t hidden_size;
  std::int64_t num_heads;
  std::int64_t image;
  std::int64_t patch;
  Pooling pooling = Pooling::cls;
};

std::ostream& operator<<(std::ostream& out, const PublishedShape& shape) {
  return out << shape.name;
}

using KernelsCase = std::tuple<PublishedShape, Precision>;

class Kernels : public testing::TestWithParam<KernelsCase> {};

TEST_P(Kernels, AreNotReferenceOnes) {
  const auto& [shape, precision] = GetParam();
  if (!backend::has_precision(precision)) GTEST_SKIP() << "this processor has no " << to_string(precision);
  ModelConfig config;
  config.image_size = {shape.image, shape.image};
  config.patch_size = {shape.patch, shape.patch};
  config.hidden_size = shape.hidden_size;
  config.num_heads = shape.num_heads;
  config.mlp_size = 4 * shape.hidden_size;
  config.num_layers = 1;  // all blocks share their kernels
  config.num_classes = 1000;
  config.pooling = shape.pooling;
  const auto model =
      std::make_shared<const Model>(config, random_weights(config, 1), ModelOptions{.precision = precision});
  ASSERT_EQ(model->precision(), precision) << model->precision_note();
  for (const std::int64_t batch : {1, 2, 8}) {
    for (const bool maps : {false, true}) {
      const Session session(model, {.batch = batch, .attention_maps = maps});
      const auto kernels = session.kernels();
      EXPECT_GE(kernels.size(), 10U);
      for (const std::string& line : kernels) {
        EXPECT_EQ(line.find("ref"), line.npos) << line << ", batch " << batch;
      }
    }
  }
}

constexpr PublishedShape kShapes[] = {
    {"vit_tiny_16", 192, 3, 224, 16},  {"vit_small_16", 384, 6, 224, 16},
    {"vit_base_16", 768, 12, 224, 16}, {"vit_base_16_384", 768, 12, 384, 16},
    {"vit_base_32", 768, 12, 224, 32}, {"dinov2_small_14", 384, 6, 518, 14, Pooling::cls_and_mean}};

INSTANTIATE_TEST_SUITE_P(All, Kernels,
                         testing::Combine(testing::ValuesIn(kShapes),
                                          testing::Values(Precision::fp32, Precision::bf16, Precision::int8)),
                         [](const auto& param) {
                           return std::string(std::get<0>(param.param).name) + "_" +
                                  std::string(to_string(std::get<1>(param.param)));
                         });

}  // namespace
}  // namespace vit::test
