#include "apps/embedding_names.hpp"

#include <gtest/gtest.h>

#include "tests/support/expect_error.hpp"
#include "tests/support/temp_folder.hpp"

namespace vit::apps {
namespace {

using test::TempFolder;

const EmbeddingOrigin kOrigin{"/models/a \"b\"", "", "224", "", "fp32", {io::EmbeddingPool::mean, true, 0},
                              {0.25F, -1e-9F}};

TEST(EmbeddingNames, ComeBackByTheirRow) {
  const TempFolder folder;
  EmbeddingNamesWriter writer(folder / "x.npy", kOrigin);
  constexpr int kRows = 1000;
  for (int i = 0; i < kRows; ++i) {
    const auto frame = i % 3 == 0 ? std::optional(io::FramePosition{i, i / 4.0}) : std::nullopt;
    writer.add("picture\n" + std::to_string(i), frame);
  }
  writer.finish();
  const EmbeddingNames names(folder / "x.npy", kRows);
  for (const int i : {0, 1, 63, 64, 65, 128, 999}) {
    EXPECT_EQ(names.picture(i).input, "picture\n" + std::to_string(i));
    ASSERT_EQ(names.picture(i).frame.has_value(), i % 3 == 0);
    if (i % 3 == 0) {
      EXPECT_EQ(names.picture(i).frame->seconds, i / 4.0);
    }
  }
  EXPECT_EQ(names.origin().model, kOrigin.model);
  EXPECT_EQ(names.origin().image_size, "224");
  EXPECT_EQ(names.origin().options.pool, io::EmbeddingPool::mean);
  EXPECT_TRUE(names.origin().options.normalize);
  EXPECT_EQ(names.origin().test_picture, kOrigin.test_picture);
}

TEST(EmbeddingNames, ErrorsNameTheFileAndWhatIsWrong) {
  const TempFolder folder;
  const std::filesystem::path array = folder / "x.npy";
  EXPECT_ERROR(EmbeddingNames(array, 0), ErrorCode::tensor_invalid, "needs x.npy.jsonl beside it");
  EmbeddingNamesWriter writer(array, kOrigin);
  writer.add("a.png", {});
  writer.finish();
  EXPECT_ERROR(EmbeddingNames(array, 2), ErrorCode::tensor_invalid, "names 1 pictures, but x.npy has 2 rows");
  const std::string good = test::read_text(names_path(array));
  const std::string first = good.substr(0, good.find('\n') + 1);
  const auto refused = [&](const std::string& text, const std::string& why) {
    folder.write("x.npy.jsonl", text);
    EXPECT_ERROR(EmbeddingNames(array, 1), ErrorCode::tensor_invalid, why);
  };
  refused("", "first line");
  refused("{\"input\":\"a.png\"}\n", "first line");
  refused("{\"vitrine_embeddings\":2}\n{\"input\":\"a.png\"}\n", "version 2");
  refused("{\"vitrine_embeddings\":1}\n{\"input\":\"a.png\"}\n", "model");
  std::string pool = good;
  refused(pool.replace(pool.find("\"mean\""), 6, "\"sum\""), "no pooling has this name: sum");
  folder.write("x.npy.jsonl", first + "{\"inp\n");
  EXPECT_ERROR(EmbeddingNames(array, 1).picture(0), ErrorCode::tensor_invalid, "line 2 is no row");
}

}  // namespace
}  // namespace vit::apps
