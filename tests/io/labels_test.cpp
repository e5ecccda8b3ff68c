#include "io/labels.hpp"

#include <gtest/gtest.h>

#include "tests/support/expect_error.hpp"

namespace vit::io {
namespace {

TEST(Labels, HolesAreShownAsTheIndex) {
  const Labels labels(4, {{3, "käfer"}, {0, "cat"}});
  EXPECT_EQ(labels.size(), 4);
  EXPECT_EQ(labels.named(), 2);
  EXPECT_EQ(labels.name(0), "cat");
  EXPECT_EQ(labels.name(1), "1");
  EXPECT_EQ(labels.name(2), "2");
  EXPECT_EQ(labels.name(3), "käfer");
}

TEST(Labels, AnEmptyNameIsAName) {
  EXPECT_EQ(Labels(1, {{0, ""}}).name(0), "");
}

TEST(Labels, RefusesWhatIsOutside) {
  EXPECT_EQ(Labels().size(), 0);
  EXPECT_ERROR(Labels().name(0), ErrorCode::internal, "class 0");
  EXPECT_ERROR(Labels(2, {}).name(-1), ErrorCode::internal, "-1");
  EXPECT_ERROR(Labels(2, {{2, "x"}}), ErrorCode::internal, "class 2 of 2");
}

}  // namespace
}  // namespace vit::io
