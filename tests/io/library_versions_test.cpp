#include "io/library_versions.hpp"

#include <gmock/gmock.h>

namespace vit::io {
namespace {

TEST(LibraryVersions, EveryOneHasANumber) {
  EXPECT_EQ(library_versions().size(), 12U);
  for (const auto& [name, version] : library_versions())
    EXPECT_THAT(version, testing::MatchesRegex(R"([0-9]+\.[0-9]+(\.[0-9]+)?.*)")) << name;
}

}  // namespace
}  // namespace vit::io
