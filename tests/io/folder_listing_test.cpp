#include "io/folder_listing.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace vit::io {
namespace {

using Names = std::vector<std::string>;

TEST(NaturalLess, ComparesNumbersByValue) {
  std::vector<std::string> names{
      "10", "9", "1", "01", "a10b", "a9b", "a", "b", "a010b2", "99999999999999999999999", "2"};
  std::sort(names.begin(), names.end(), natural_less);
  EXPECT_EQ(names,
            (Names{"01", "1", "2", "9", "10", "99999999999999999999999", "a", "a9b", "a10b", "a010b2", "b"}));
}

TEST(NaturalLess, IsAStrictOrder) {
  const Names names{"", "0", "00", "a0", "a00", "a0b", "a00a", "1a", "01", "1"};
  for (const std::string& x : names) {
    EXPECT_FALSE(natural_less(x, x)) << x;
    for (const std::string& y : names) {
      EXPECT_FALSE(natural_less(x, y) && natural_less(y, x)) << x << " " << y;
      EXPECT_TRUE(x == y || natural_less(x, y) || natural_less(y, x)) << x << " " << y;
    }
  }
}

}  // namespace
}  // namespace vit::io
