#include "apps/label_folders.hpp"

#include <gtest/gtest.h>

#include <set>

namespace vit::apps {
namespace {

using Names = std::vector<std::string>;

TEST(LabelFolders, AreTheLabels) {
  EXPECT_EQ(label_folders(io::Labels(3, {{0, "tench, Tinca tinca"}, {2, "Stra\u00dfenbahn"}})),
            (Names{"tench, Tinca tinca", "1", "Stra\u00dfenbahn"}));
}

TEST(LabelFolders, AreNamesThatAFileCanHave) {
  const Names names = label_folders(io::Labels(
      6, {{0, "T-shirt/top"}, {1, ".."}, {2, ""}, {3, "a\nb"}, {4, ".hidden"}, {5, std::string(300, 'x')}}));
  EXPECT_EQ(Names(names.begin(), names.begin() + 5), (Names{"T-shirt_top", "_..", "_", "a_b", "_.hidden"}));
  EXPECT_LE(names[5].size(), 200U);
}

TEST(LabelFolders, NeverMixTwoClasses) {
  EXPECT_EQ(label_folders(io::Labels(4, {{0, "crane"}, {1, "cat"}, {2, "crane"}, {3, "1"}})),
            (Names{"crane (0)", "cat", "crane (2)", "1"}));
  const Names names = label_folders(io::Labels(4, {{0, "a/b"}, {1, "a_b"}, {2, "a_b (0)"}, {3, "a_b (1)"}}));
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), 4U);
}

}  // namespace
}  // namespace vit::apps
