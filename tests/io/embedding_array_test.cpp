#include "io/embedding_array.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "io/npy_writer.hpp"
#include "io/safetensors_writer.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/temp_folder.hpp"
#include "vit/tensor.hpp"

namespace vit::io {
namespace {

using test::TempFolder;

Tensor random_rows(std::int64_t N, std::int64_t D, unsigned seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal;
  Tensor rows({N, D});
  for (float& x : rows.elements()) x = normal(engine);
  return rows;
}

std::span<const float> row(const Tensor& rows, std::int64_t i) {
  const auto D = static_cast<std::size_t>(rows.shape()[1]);
  return rows.elements().subspan(static_cast<std::size_t>(i) * D, D);
}

/// By the definition, in double precision, best first.
std::vector<Neighbour> naive(const Tensor& rows, std::span<const float> query) {
  std::vector<Neighbour> all;
  for (std::int64_t i = 0; i < rows.shape()[0]; ++i) {
    double product = 0, q = 0, x = 0;
    for (std::size_t d = 0; d < query.size(); ++d) {
      product += double{query[d]} * row(rows, i)[d];
      q += double{query[d]} * query[d];
      x += double{row(rows, i)[d]} * row(rows, i)[d];
    }
    all.push_back({i, static_cast<float>(x * q == 0 ? 0 : product / std::sqrt(q * x))});
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Neighbour& a, const Neighbour& b) { return a.score > b.score; });
  return all;
}

TEST(EmbeddingArray, FindsWhatTheDefinitionFinds) {
  const TempFolder folder;
  for (const std::int64_t D : {1, 7, 16, 33, 96}) {
    const Tensor rows = random_rows(500, D, static_cast<unsigned>(D));
    const Tensor queries = random_rows(3, D, 99);
    write_npy(folder / "x.npy", rows.view());
    const EmbeddingArray array(folder / "x.npy");
    const std::vector<std::span<const float>> asked{row(queries, 0), row(queries, 1), row(queries, 2)};
    const auto found = find_nearest(array, asked, 20, 2);
    ASSERT_EQ(found.size(), 3U);
    for (std::size_t q = 0; q < 3; ++q) {
      const std::vector<Neighbour> expected = naive(rows, asked[q]);
      ASSERT_EQ(found[q].size(), 20U);
      for (std::size_t i = 0; i < 20; ++i) {
        EXPECT_NEAR(found[q][i].score, expected[i].score, 2e-6) << D;
        // A row among near-equal ones may stand beside its place; its score is its own.
        const auto itself = std::find_if(expected.begin(), expected.end(),
                                         [&](const Neighbour& n) { return n.row == found[q][i].row; });
        EXPECT_NEAR(itself->score, found[q][i].score, 2e-6);
      }
    }
  }
}

TEST(EmbeddingArray, EqualRowsKeepTheirOrderAcrossBlocksAndThreads) {
  // More than one block of 4 MiB: 64 numbers a row.
  constexpr std::int64_t kRows = 50'000;
  const TempFolder folder;
  Tensor rows = random_rows(kRows, 64, 1);
  const std::vector<std::int64_t> equal{3, 17, 20'000, 20'001, 49'999};
  for (const std::int64_t i : equal) std::copy_n(rows.data(), 64, rows.data() + i * 64);  // as row 0
  write_npy(folder / "x.npy", rows.view());
  const EmbeddingArray array(folder / "x.npy");
  const std::vector<std::span<const float>> query{row(rows, 0)};
  for (const int threads : {1, 4}) {
    const std::vector<Neighbour> found = find_nearest(array, query, 4, threads).at(0);
    ASSERT_EQ(found.size(), 4U);
    for (const std::size_t i : {1U, 2U, 3U}) EXPECT_EQ(found[i].row, equal[i - 1]);
    EXPECT_EQ(found[0].row, 0);
    EXPECT_EQ(find_nearest(array, query, kRows + 5, threads).at(0).size(), static_cast<std::size_t>(kRows));
  }
}

TEST(EmbeddingArray, ZeroIsLikeNothing) {
  const TempFolder folder;
  Tensor rows({3, 2});
  std::copy_n(std::vector<float>{0, 0, -1, 0, 1, 0}.data(), 6, rows.data());
  write_npy(folder / "x.npy", rows.view());
  const EmbeddingArray array(folder / "x.npy");
  const std::vector<std::span<const float>> queries{row(rows, 2), row(rows, 0)};
  const auto found = find_nearest(array, queries, 3, 1);
  EXPECT_EQ(found[0][0].row, 2);
  EXPECT_EQ(found[0][1].row, 0);
  EXPECT_EQ(found[0][1].score, 0);
  EXPECT_EQ(found[0][2].score, -1);
  for (const Neighbour& n : found[1]) EXPECT_EQ(n.score, 0);
}

TEST(EmbeddingArray, ReadsSafetensorsToo) {
  const TempFolder folder;
  const Tensor rows = random_rows(20, 5, 2);
  write_safetensors(folder / "x.safetensors", {{"embeddings", rows.view()}});
  const EmbeddingArray array(folder / "x.safetensors");
  EXPECT_EQ(array.rows(), 20);
  EXPECT_EQ(array.width(), 5);
  const std::vector<std::span<const float>> query{row(rows, 7)};
  EXPECT_EQ(find_nearest(array, query, 1, 1).at(0).at(0).row, 7);
}

TEST(EmbeddingArray, RefusesWhatIsNotFinite) {
  const TempFolder folder;
  Tensor rows = random_rows(5, 3, 4);
  rows.data()[7] = std::numeric_limits<float>::quiet_NaN();
  write_npy(folder / "x.npy", rows.view());
  const EmbeddingArray array(folder / "x.npy");
  const std::vector<std::span<const float>> query{row(rows, 0)};
  EXPECT_ERROR(find_nearest(array, query, 1, 1), ErrorCode::tensor_invalid, "row 2 has NaN");
}

/// A header in front of `values`.
std::string npy(const std::string& dict, const std::string& values) {
  std::string text = "\x93NUMPY";
  text += std::string("\x01\x00", 2) + static_cast<char>(dict.size() + 1) + '\0' + dict + '\n';
  return text + values;
}

TEST(EmbeddingArray, ErrorsNameTheFileAndWhatWasExpected) {
  const TempFolder folder;
  const std::string one(4, '\0');
  const std::string many(96, '\0');
  const auto refused = [&](const std::string& name, const std::string& bytes, const std::string& why) {
    const std::filesystem::path path = folder.write(name, bytes);
    EXPECT_ERROR(EmbeddingArray{path}, ErrorCode::tensor_invalid, name);
    EXPECT_ERROR(EmbeddingArray{path}, ErrorCode::tensor_invalid, why);
  };
  refused("double.npy", npy("{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4)}", many), "F64");
  refused("columns.npy", npy("{'descr': '<f4', 'fortran_order': True, 'shape': (6, 4)}", many), "column");
  refused("line.npy", npy("{'descr': '<f4', 'fortran_order': False, 'shape': (24,)}", many),
          "expected [N, D]");
  refused("patches.npy", npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3, 4)}", many),
          "without --patches");
  refused("short.npy", npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1000000, 768)}", one),
          "needs 3072000000 bytes, and 4 are there");
  refused("huge.npy", npy("{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 8)}", one),
          "overflows");
  refused("cut.npy", std::string("\x93NUMPY\x01\x00\xff\xff{", 11), "header is not complete");
  refused("no-width.npy", npy("{'descr': '<f4', 'fortran_order': False, 'shape': (5, 0)}", ""),
          "expected [N, D]");
  refused("text.npy", "input,score\n", "safetensors");
  refused("empty.npy", "", "empty.npy");
  write_safetensors(folder / "other.safetensors", {{"pixel_values", random_rows(2, 2, 1).view()}});
  EXPECT_ERROR(EmbeddingArray(folder / "other.safetensors"), ErrorCode::tensor_invalid, "\"embeddings\"");
  EXPECT_ERROR(EmbeddingArray(folder / "missing.npy"), ErrorCode::tensor_invalid, "missing.npy");
}

}  // namespace
}  // namespace vit::io
