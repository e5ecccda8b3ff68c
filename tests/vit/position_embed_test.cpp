#include "vit/position_embed.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "tests/reference/positions.hpp"
#include "tests/support/compare.hpp"
#include "tests/support/random.hpp"

namespace vit::test {
namespace {

/// From one grid to another, in patches of one pixel.
struct Grids {
  Size2 from;
  Size2 to;
  PositionResampling rule = PositionResampling::bicubic;
};

/// What the files of make_positions.py are called by.
std::string suffix(PositionResampling rule) {
  const std::string name(to_string(rule));
  return name.substr(std::string("bicubic").size());
}

std::string name_of(const Grids& grids) {
  const auto side = [](Size2 s) { return std::to_string(s.height) + "x" + std::to_string(s.width); };
  return side(grids.from) + "_" + side(grids.to) + suffix(grids.rule);
}

std::ostream& operator<<(std::ostream& out, const Grids& grids) {
  return out << name_of(grids);
}

ModelConfig config_for(Size2 grid, std::int64_t D) {
  ModelConfig config;
  config.image_size = grid;
  config.patch_size = {1, 1};
  config.hidden_size = D;
  return config;
}

/// As make_positions.py fills it, behind a row for the class token.
Tensor python_table(Size2 grid) {
  Tensor table({1, 1 + grid.height * grid.width, 2});
  float* next = table.data();
  *next++ = 7;
  *next++ = -7;
  for (std::int64_t y = 0; y < grid.height; ++y) {
    for (std::int64_t x = 0; x < grid.width; ++x) {
      for (std::int64_t d = 0; d < 2; ++d) {
        *next++ = static_cast<float>((y * 733 + x * 1291 + d * 517 + y * x * 89) % 2048 - 1024) / 1024;
      }
    }
  }
  return table;
}

std::vector<float> golden(const Grids& grids) {
  std::ifstream file(std::string(VITRINE_TEST_DATA "/positions/") + name_of(grids) + ".f32",
                     std::ios::binary);
  std::vector<float> values(static_cast<std::size_t>(grids.to.height * grids.to.width * 2));
  file.read(reinterpret_cast<char*>(values.data()),
            static_cast<std::streamsize>(values.size() * sizeof(float)));
  EXPECT_TRUE(file) << "cannot read the golden table of " << name_of(grids);
  return values;
}

class PositionTable : public testing::TestWithParam<Grids> {};

TEST_P(PositionTable, AgreesWithTorchAndTheReference) {
  const auto [from, to, rule] = GetParam();
  ModelConfig config = config_for(from, 2);
  config.position_resampling = rule;
  const Tensor table = python_table(from);
  const Tensor got = position_table(config, table, to);
  ASSERT_EQ(got.shape(), (Shape{1 + to.height * to.width, 2}));
  EXPECT_EQ(got.data()[0], 7);
  EXPECT_EQ(got.data()[1], -7);

  const ConstTensorView patches{got.data() + 2, {to.height, to.width, 2}};
  const std::vector<float> torch = golden(GetParam());
  // torch rounds its source coordinates and 16 products to float32: coordinates up to 61 are off by 61 u,
  // which slopes of up to 2 per pixel turn into as many u of the result.
  EXPECT_TRUE(matches("torch", patches, ConstTensorView{torch.data(), patches.shape}, {3e-6}));

  const reference::Array exact =
      reference::positions(config, {table.shape(), {table.elements().begin(), table.elements().end()}}, to);
  EXPECT_TRUE(matches("reference", got.view(), exact.values, {3e-6}));
}

std::vector<Grids> every_rule() {
  std::vector<Grids> all;
  for (const PositionResampling rule :
       {PositionResampling::bicubic, PositionResampling::bicubic_antialias,
        PositionResampling::bicubic_aligned, PositionResampling::bicubic_offset}) {
    for (const auto& [from, to] : {std::pair<Size2, Size2>{{37, 37}, {8, 8}},
                                   {{14, 14}, {61, 61}},
                                   {{2, 8}, {4, 4}},
                                   {{5, 3}, {7, 11}},
                                   {{7, 7}, {7, 6}},
                                   {{1, 1}, {2, 3}}})
      all.push_back({from, to, rule});
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(All, PositionTable, testing::ValuesIn(every_rule()),
                         testing::PrintToStringParamName());

TEST(PositionTablePrefix, TokensWithoutARowGetZeros) {
  ModelConfig config = config_for({2, 3}, 5);
  config.num_registers = 4;
  for (const auto& [scope, rows] :
       {std::pair(PositionEmbedding::all_tokens, 5), std::pair(PositionEmbedding::class_and_patches, 1),
        std::pair(PositionEmbedding::patches, 0)}) {
    config.position_embedding = scope;
    const Tensor table = normal_tensor({1, rows + 6, 5}, 1);
    const Tensor got = position_table(config, table, {2, 3});
    ASSERT_EQ(got.shape(), (Shape{11, 5}));
    for (std::int64_t i = 0; i < 55; ++i) {
      const std::int64_t token = i / 5;
      const std::int64_t row = token < 5 ? token : token - 5 + rows;
      EXPECT_EQ(got.data()[i], token >= rows && token < 5 ? 0 : table.data()[row * 5 + i % 5]) << i;
    }
  }
  config.position_embedding = PositionEmbedding::none;
  const Tensor zeros = position_table(config, {}, {2, 3});
  for (std::int64_t i = 0; i < zeros.size(); ++i) EXPECT_EQ(zeros.data()[i], 0);
}

TEST(PositionTableReuse, TheSameGridIsUsedUnchanged) {
  ModelConfig config;
  config.image_size = {31, 47};
  config.patch_size = {8, 9};
  config.hidden_size = 5;
  const Tensor table = normal_tensor({1, 1 + 3 * 5, 5}, 1);
  for (const Size2 image : {Size2{31, 47}, Size2{24, 45}, Size2{31, 53}}) {
    const Tensor got = position_table(config, table, image);
    ASSERT_EQ(got.size(), table.size());
    EXPECT_TRUE(std::equal(got.data(), got.data() + got.size(), table.data()));
  }
}

TEST(AddPositions, PrefixTokensFirstInEveryImage) {
  const Tensor prefix = normal_tensor({2, 3}, 1);
  const Tensor positions = normal_tensor({5, 3}, 2);
  Tensor hidden = normal_tensor({2, 5, 3}, 3);
  const Tensor before = hidden.clone();
  add_positions(prefix, positions, hidden.view());
  for (std::int64_t i = 0; i < hidden.size(); ++i) {
    const std::int64_t in_image = i % 15;
    const float token = in_image < 6 ? prefix.data()[in_image] : before.data()[i];
    EXPECT_EQ(hidden.data()[i], token + positions.data()[in_image]) << i;
  }
}

}  // namespace
}  // namespace vit::test
