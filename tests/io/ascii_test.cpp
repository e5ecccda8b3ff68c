#include "io/ascii.hpp"

#include <gtest/gtest.h>

namespace vit::io {
namespace {

TEST(Ascii, OtherCharactersAreOneQuestionMarkEach) {
  EXPECT_EQ(to_ascii("d\xC3\xA9j\xC3\xA0\n"), "d?j??");
}

TEST(Ascii, SmallLettersOfAsciiOnly) {
  EXPECT_EQ(to_lower("A Z[@_\xC3\x84"), "a z[@_\xC3\x84");
}

TEST(Ascii, APrefixHasWholeCharacters) {
  const std::string text = "ab\xC3\xA9";
  EXPECT_EQ(utf8_prefix(text, 4), text);
  EXPECT_EQ(utf8_prefix(text, 3), "ab");
  EXPECT_EQ(utf8_prefix(text, 1), "a");
  EXPECT_EQ(utf8_prefix("\xA9\xA9", 1), "");
}

}  // namespace
}  // namespace vit::io
