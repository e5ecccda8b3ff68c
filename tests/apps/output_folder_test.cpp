#include "apps/output_folder.hpp"

#include <gtest/gtest.h>

namespace vit::apps {
namespace {

TEST(OutputNames, AreUniqueAndThoseOfThePictures) {
  OutputNames names;
  EXPECT_EQ(names.name_for("a/cat.jpg"), "cat");
  EXPECT_EQ(names.name_for("cat-2.jpg"), "cat-2");
  EXPECT_EQ(names.name_for("b/cat.jpg"), "cat-3");  // cat-2 is somebody's
  EXPECT_EQ(names.name_for("cat.png"), "cat-4");
  EXPECT_EQ(names.name_for("cat-2.png"), "cat-2-2");
  EXPECT_EQ(names.name_for("cat.tar.gz"), "cat.tar");
  EXPECT_EQ(names.name_for(".png"), ".png");
  EXPECT_EQ(names.name_for("folder/"), "picture");
  EXPECT_EQ(names.name_for("clip.mp4", io::FramePosition{12, 0.48}), "clip.frame12");
}

TEST(OutputNames, AreShortEnoughForAFile) {
  OutputNames names;
  const std::string name = names.name_for("a" + std::string(245, 'x') + ".jpg");
  EXPECT_LE(name.size(), 200U);
  EXPECT_NE(name, names.name_for("a" + std::string(246, 'x') + ".jpg"));
  std::string umlauts = "a";
  for (int i = 0; i < 120; ++i) umlauts += "\u00fc";
  const std::string cut = names.name_for(umlauts + ".jpg");
  EXPECT_EQ(cut.size() % 2, 1U) << "half a character";
}

}  // namespace
}  // namespace vit::apps
