#include "apps/progress.hpp"

#include <gtest/gtest.h>

namespace vit::apps {
namespace {

TEST(Progress, SaysWhatIsKnown) {
  EXPECT_EQ(describe({.done = 1204, .failed = 3, .total = 60000, .seconds = 20}),
            "1,204 of 60,000 · 60.2 a second · 3 failed · 16 min left");
  EXPECT_EQ(describe({.done = 7, .failed = 0, .total = {}, .seconds = 2}), "7 · 3.5 a second");
  EXPECT_EQ(describe({.done = 0, .failed = 0, .total = 9, .seconds = 0}), "0 of 9");
}

TEST(Progress, TimesHaveTheUnitThatFits) {
  const auto left = [](std::int64_t total) {
    const std::string text = describe({.done = 1, .failed = 0, .total = total, .seconds = 1});
    return text.substr(text.rfind("· ") + 3);
  };
  EXPECT_EQ(left(1), "0 s left");
  EXPECT_EQ(left(100), "99 s left");
  EXPECT_EQ(left(101), "2 min left");
  EXPECT_EQ(left(5401), "90 min left");
  EXPECT_EQ(left(7201), "2 h left");
  EXPECT_EQ(left(0), "0 s left") << "a guess that was too low";
}

}  // namespace
}  // namespace vit::apps
