#include "io/imagenet_labels.hpp"

#include <gtest/gtest.h>

namespace vit::io {
namespace {

TEST(ImagenetNames, AreThoseOfTheSetOfThatSize) {
  struct Known {
    std::int64_t classes, cat;
    std::int64_t last;
    const char* name;
  };
  for (const Known& known : {Known{1000, 281, 999, "toilet tissue, toilet paper, bathroom tissue"},
                             Known{11221, 1574, 11220, "knothole"}, Known{11821, 1615, 11820, "knothole"},
                             Known{21841, 2397, 21840, "knothole"}, Known{21843, 2397, 21842, "knothole"}}) {
    const auto names = imagenet_names(known.classes);
    ASSERT_TRUE(names) << known.classes;
    EXPECT_EQ(std::ssize(*names), known.classes);
    EXPECT_EQ(names->at(known.cat), "tabby, tabby cat") << known.classes;
    EXPECT_EQ(names->begin()->first, 0) << known.classes;
    EXPECT_EQ(names->rbegin()->first, known.last) << known.classes;
    EXPECT_EQ(names->rbegin()->second, known.name) << known.classes;
    for (const auto& [index, name] : *names) EXPECT_FALSE(name.empty()) << known.classes << " " << index;
  }
  EXPECT_EQ(imagenet_names(1000)->at(0), "tench, Tinca tinca");
}

TEST(ImagenetNames, AreNoneOfOtherSizes) {
  for (const std::int64_t classes : {-1, 0, 1, 10, 999, 1001, 21842, 1000000})
    EXPECT_FALSE(imagenet_names(classes)) << classes;
}

}  // namespace
}  // namespace vit::io
