// Resizing, whole recipes, and files to tensors, on one core: bench_resample [--benchmark_filter=…]
// [PICTURE…]. tests/bench/preprocess.py compares it with Pillow and torchvision in the same run.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <string>
#include <vector>

#include "io/preprocess.hpp"
#include "io/resample_kernels.hpp"
#include "vit/file.hpp"

namespace vit::io {
namespace {

struct Case {
  Size2 from;
  Size2 to;
};

constexpr std::array kCases{
    Case{{3000, 4000}, {224, 224}}, Case{{3000, 4000}, {256, 341}}, Case{{375, 500}, {256, 341}},
    Case{{480, 640}, {224, 224}},   Case{{224, 224}, {384, 384}},
};

Image noise(Size2 size) {
  Image image{size.height, size.width,
              std::vector<std::uint8_t>(static_cast<std::size_t>(size.height * size.width * 3))};
  std::uint32_t state = 1;
  for (std::uint8_t& byte : image.pixels) {
    state = state * 1664525U + 1013904223U;
    byte = static_cast<std::uint8_t>(state >> 24);
  }
  return image;
}

void resize_with(benchmark::State& state, Case c, Interpolation filter, const ResampleKernels* kernels) {
  const Image image = noise(c.from);
  for ([[maybe_unused]] auto _ : state) {
    benchmark::DoNotOptimize(
        resize_region(image, c.to, filter, {0, 0, c.to.height, c.to.width}, *kernels).pixels.data());
  }
}

/// What a classifier does with a photograph: shortest edge to 256, the middle 224 x 224, normalised.
void whole_recipe(benchmark::State& state, Size2 from) {
  PreprocessConfig config;
  config.resize = ResizeMode::shortest_edge;
  config.edge = 256;
  config.crop = Size2{224, 224};
  const Image image = noise(from);
  std::vector<float> values(3 * 224 * 224);
  for ([[maybe_unused]] auto _ : state) {
    preprocess(image, config, values);
    benchmark::DoNotOptimize(values.data());
  }
}

/// timm's recipe of ViTs: shortest edge to 248, bicubic, the middle 224 x 224, normalised.
PreprocessConfig timm_recipe() {
  PreprocessConfig config;
  config.arithmetic = RecipeArithmetic::torchvision;
  config.exif = Exif::ignore;
  config.resize = ResizeMode::shortest_edge;
  config.edge = 248;
  config.interpolation = Interpolation::bicubic;
  config.crop = Size2{224, 224};
  return config;
}

void picture_to_tensor(benchmark::State& state, const std::string& path) {
  const MappedFile file(path, FileErrors::image());
  const PreprocessConfig config = timm_recipe();
  std::vector<float> values(3 * 224 * 224);
  for ([[maybe_unused]] auto _ : state) {
    preprocess(decode_image(file.bytes(), path, {.exif = config.exif}), config, values);
    benchmark::DoNotOptimize(values.data());
  }
}

void register_all() {
  for (const Case& c : kCases) {
    for (const Interpolation filter :
         {Interpolation::bilinear, Interpolation::bicubic, Interpolation::lanczos, Interpolation::box,
          Interpolation::hamming, Interpolation::nearest}) {
      const std::string name = fmt::format("{}x{}/{}x{}/{}", c.from.width, c.from.height, c.to.width,
                                           c.to.height, to_string(filter));
      const ResampleKernels* best = avx2_kernels() != nullptr ? avx2_kernels() : &portable_kernels();
      benchmark::RegisterBenchmark(("resize/" + name).c_str(), resize_with, c, filter, best);
      benchmark::RegisterBenchmark(("resize_portable/" + name).c_str(), resize_with, c, filter,
                                   &portable_kernels());
    }
  }
  for (const Size2 from : {Size2{3000, 4000}, Size2{375, 500}}) {
    benchmark::RegisterBenchmark(fmt::format("recipe/{}x{}", from.width, from.height).c_str(), whole_recipe,
                                 from);
  }
}

}  // namespace
}  // namespace vit::io

int main(int argc, char** argv) {
  vit::io::register_all();
  benchmark::Initialize(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    const std::string path = argv[i];
    if (path.starts_with("--")) return 2;
    benchmark::RegisterBenchmark(
        ("picture/" + std::filesystem::path(path).filename().native()).c_str(),
        [path](benchmark::State& state) { vit::io::picture_to_tensor(state, path); });
  }
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
