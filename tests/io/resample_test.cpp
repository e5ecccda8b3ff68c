#include "io/resample.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "io/resample_kernels.hpp"
#include "tests/io/preprocess_data.hpp"
#include "tests/support/expect_error.hpp"

namespace vit::io {
namespace {

using test::make_picture;

constexpr std::array kFilters{Interpolation::nearest, Interpolation::lanczos, Interpolation::bilinear,
                              Interpolation::bicubic, Interpolation::box,     Interpolation::hamming};

Interpolation filter_named(std::string_view name) {
  return *std::find_if(kFilters.begin(), kFilters.end(),
                       [&](Interpolation f) { return to_string(f) == name; });
}

struct NamedKernels {
  std::string name;
  const ResampleKernels* kernels;
};

std::vector<NamedKernels> all_kernels() {
  std::vector<NamedKernels> all{{"portable", &portable_kernels()}};
  if (avx2_kernels() != nullptr) all.push_back({"avx2", avx2_kernels()});
  return all;
}

Region whole(Size2 size) {
  return {0, 0, size.height, size.width};
}

Image cut(const Image& image, const Region& region) {
  Image part{region.height, region.width, {}};
  for (std::int64_t y = 0; y < region.height; ++y) {
    const auto begin = image.pixels.begin() + 3 * ((region.top + y) * image.width + region.left);
    part.pixels.insert(part.pixels.end(), begin, begin + 3 * region.width);
  }
  return part;
}

/// Number of bytes that differ, or -1 for another size.
std::int64_t difference(const Image& got, std::int64_t height, std::int64_t width,
                        std::span<const std::uint8_t> want) {
  if (got.height != height || got.width != width || got.pixels.size() != want.size()) return -1;
  std::int64_t count = 0;
  for (std::size_t i = 0; i < want.size(); ++i) count += got.pixels[i] != want[i];
  return count;
}

TEST(Resize, GivesThePixelsOfPillow) {
  const std::vector<std::uint8_t> stored = test::read_bytes("resample.bin");
  std::map<std::string, int> seen;
  for (const Json& c : test::read_cases("resample.json", 250)) {
    const Image picture = make_picture(c);
    const Size2 size{c["to"][0].get<std::int64_t>(), c["to"][1].get<std::int64_t>()};
    const Interpolation filter = filter_named(c["filter"].get<std::string>());
    for (const NamedKernels& set : all_kernels()) {
      SCOPED_TRACE(set.name + " " + c.dump());
      const Image got = resize_region(picture, size, filter, whole(size), *set.kernels);
      if (c.contains("hash")) {
        EXPECT_EQ(got.height, size.height);
        EXPECT_EQ(got.width, size.width);
        EXPECT_EQ(test::hash_of(got.pixels), c["hash"].get<std::string>());
        ++seen["hash"];
      } else {
        const auto bytes = static_cast<std::size_t>(3 * size.height * size.width);
        const auto want = std::span(stored).subspan(c["at"].get<std::size_t>(), bytes);
        EXPECT_EQ(difference(got, size.height, size.width, want), 0);
        ++seen["pixels"];
      }
    }
    ++seen[c["filter"].get<std::string>()];
  }
  EXPECT_GE(seen["hash"], 30);
  EXPECT_GE(seen["pixels"], 200);
  for (const Interpolation filter : kFilters) EXPECT_GE(seen[std::string(to_string(filter))], 40);
}

TEST(Resize, ChoosesKernelsThatAgree) {
  const Image picture = make_picture("noise", 120, 90, 1);
  for (const Interpolation filter : kFilters) {
    const Image got = resize(picture, {64, 61}, filter);
    for (const NamedKernels& set : all_kernels()) {
      EXPECT_EQ(got.pixels, resize_region(picture, {64, 61}, filter, whole({64, 61}), *set.kernels).pixels);
    }
  }
}

TEST(Resize, KeepsAPictureOfTheSameSize) {
  const Image picture = make_picture("noise", 21, 34, 2);
  for (const Interpolation filter : kFilters)
    EXPECT_EQ(resize(picture, {21, 34}, filter).pixels, picture.pixels);
}

TEST(Resize, ReachesBlackAndWhiteWithoutWrappingAround) {
  const Image picture = make_picture("edges", 40, 40, 3);
  const Image got = resize(picture, {173, 171}, Interpolation::lanczos);
  EXPECT_GT(std::count(got.pixels.begin(), got.pixels.end(), 0), 1000);
  EXPECT_GT(std::count(got.pixels.begin(), got.pixels.end(), 255), 1000);
}

TEST(ResizeRegion, IsThePartOfTheWhole) {
  const std::vector<Size2> from{{37, 53}, {90, 12}, {5, 70}, {64, 64}, {1, 1}, {200, 9}};
  const std::vector<Size2> to{{24, 24}, {37, 20}, {20, 53}, {80, 96}, {64, 64}, {90, 31}};
  std::uint64_t seed = 0;
  for (const Size2 a : from) {
    for (const Size2 b : to) {
      const Image picture = make_picture("noise", a.height, a.width, ++seed);
      for (const Interpolation filter : kFilters) {
        const Image all = resize(picture, b, filter);
        for (const Region& region : {Region{0, 0, 1, 1}, Region{b.height - 1, b.width - 1, 1, 1},
                                     Region{b.height / 3, b.width / 4, b.height / 2, b.width / 2},
                                     Region{0, b.width / 2, b.height, b.width - b.width / 2}}) {
          for (const NamedKernels& set : all_kernels()) {
            const Image got = resize_region(picture, b, filter, region, *set.kernels);
            EXPECT_EQ(difference(got, region.height, region.width, cut(all, region).pixels), 0)
                << set.name << " " << to_string(filter)
                << fmt::format(" {}x{} to {}x{}, region {} {} {} {}", a.width, a.height, b.width, b.height,
                               region.top, region.left, region.height, region.width);
          }
        }
      }
    }
  }
}

/// The whole would be 3 GB.
TEST(ResizeRegion, CostsNothingForTheRest) {
  const Image tall = make_picture("noise", 20'000, 1, 4);
  const Image wide{1, 20'000, tall.pixels};
  constexpr std::int64_t kLong = 20'000 * 224;
  for (const Interpolation filter : kFilters) {
    const Image a = resize_region(tall, {kLong, 224}, filter, {(kLong - 224) / 2, 0, 224, 224});
    const Image b = resize_region(wide, {224, kLong}, filter, {0, (kLong - 224) / 2, 224, 224});
    for (std::size_t i = 0; i < 224; ++i) {  // constant across the side of one pixel
      const std::vector<std::uint8_t> row(a.pixels.begin() + static_cast<std::ptrdiff_t>(i * 672),
                                          a.pixels.begin() + static_cast<std::ptrdiff_t>(i * 672 + 3));
      EXPECT_TRUE(std::equal(row.begin(), row.end(), b.pixels.begin() + static_cast<std::ptrdiff_t>(3 * i)));
    }
    EXPECT_NE(std::count(a.pixels.begin(), a.pixels.end(), a.pixels[0]),
              static_cast<std::ptrdiff_t>(a.pixels.size()));
  }
}

TEST(Resize, RefusesWhatCannotBe) {
  const Image picture = make_picture("noise", 4, 5, 5);
  const auto code = ErrorCode::invalid_argument;
  const Interpolation filter = Interpolation::bilinear;
  EXPECT_ERROR(resize(picture, {0, 5}, filter), code, "5 x 4", "5 x 0");
  EXPECT_ERROR(resize(picture, {5, -1}, filter), code, "-1 x 5");
  EXPECT_ERROR(resize(picture, {5, std::int64_t{1} << 31}, filter), code, "2^31 - 1");
  EXPECT_ERROR(resize(Image{}, {5, 5}, filter), code, "0 x 0");
  EXPECT_ERROR(resize(Image{4, 5, std::vector<std::uint8_t>(59)}, {5, 5}, filter), code, "59 bytes");
  for (const Region& region : {Region{0, 0, 6, 5}, Region{1, 0, 5, 5}, Region{0, 0, 5, 0},
                               Region{-1, 0, 2, 2}, Region{0, 1, 5, 5}, Region{0, 0, -1, 5}}) {
    EXPECT_ERROR(resize_region(picture, {5, 5}, filter, region), code, "region");
  }
}

TEST(Interpolation, HasNames) {
  EXPECT_EQ(to_string(Interpolation::nearest), "nearest");
  EXPECT_EQ(to_string(Interpolation::hamming), "hamming");
}

}  // namespace
}  // namespace vit::io
