// The kernels of io/resample for AVX2.
//
// A weight has 23 bits and more, a 32-bit multiplication is slow: each weight is split into two 16-bit parts,
// and _mm256_madd_epi16 sums the products of two taps at once. Both sums are joined at the end, modulo 2^32,
// which is exact because the true sum fits 32 bits.
#include "io/resample_kernels.hpp"

#if defined(__x86_64__) && defined(__GNUC__)

#include <immintrin.h>

#include <algorithm>
#include <cstring>
#include <vector>

#define VITRINE_AVX2 __attribute__((target("avx2"))) inline

namespace vit::io {
namespace {

/// Weights of two neighbouring taps in every 32-bit lane.
VITRINE_AVX2 __m256i pair(const std::int16_t* weights) {
  std::int32_t both;
  std::memcpy(&both, weights, sizeof both);
  return _mm256_set1_epi32(both);
}

VITRINE_AVX2 __m256i two_halves(const std::uint8_t* lower, const std::uint8_t* upper) {
  const __m128i low = _mm_loadu_si128(reinterpret_cast<const __m128i*>(lower));
  const __m128i high = _mm_loadu_si128(reinterpret_cast<const __m128i*>(upper));
  return _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
}

/// Sums of products with the high and low parts of the weights.
struct Sums {
  __m256i high;
  __m256i low;
};

VITRINE_AVX2 void add_products(Sums& sums, __m256i pixels, __m256i high, __m256i low) {
  sums.high = _mm256_add_epi32(sums.high, _mm256_madd_epi16(pixels, high));
  sums.low = _mm256_add_epi32(sums.low, _mm256_madd_epi16(pixels, low));
}

/// Joins the parts, rounds, and drops the fraction; not yet clipped to 0…255.
VITRINE_AVX2 __m256i finish(const Sums& sums) {
  const __m256i half = _mm256_set1_epi32(1 << (kWeightBits - 1));
  const __m256i sum = _mm256_add_epi32(_mm256_slli_epi32(sums.high, TapTable::kLowBits), sums.low);
  return _mm256_srai_epi32(_mm256_add_epi32(sum, half), kWeightBits);
}

/// Bytes that a load of the last group may reach beyond the end of its row.
constexpr std::int64_t kOverread = 16;

/// Two rows at once, one in each half of a register: they share the weights. Reads up to kOverread bytes
/// more.
VITRINE_AVX2 void horizontal_rows(const std::uint8_t* row0, const std::uint8_t* row1, const TapTable& taps,
                                  std::uint8_t* target0, std::uint8_t* target1) {
  // R G B of taps 0 and 1 (2 and 3) as 16-bit pairs: R0 R1 G0 G1 B0 B1 0 0
  const __m256i taps01 = _mm256_setr_epi8(0, -1, 3, -1, 1, -1, 4, -1, 2, -1, 5, -1, -1, -1, -1, -1,  //
                                          0, -1, 3, -1, 1, -1, 4, -1, 2, -1, 5, -1, -1, -1, -1, -1);
  const __m256i taps23 = _mm256_setr_epi8(6, -1, 9, -1, 7, -1, 10, -1, 8, -1, 11, -1, -1, -1, -1, -1,  //
                                          6, -1, 9, -1, 7, -1, 10, -1, 8, -1, 11, -1, -1, -1, -1, -1);
  for (std::int64_t x = 0; x < taps.size(); ++x) {
    const auto i = static_cast<std::size_t>(x);
    const std::int64_t offset = 3 * taps.first[i];
    const std::int16_t* high = taps.high.data() + x * taps.stride;
    const std::int16_t* low = taps.low.data() + x * taps.stride;
    Sums even{_mm256_setzero_si256(), _mm256_setzero_si256()};
    Sums odd = even;
    for (std::int64_t k = 0; k < taps.count[i]; k += TapTable::kGroup) {
      const __m256i pixels = two_halves(row0 + offset + 3 * k, row1 + offset + 3 * k);
      add_products(even, _mm256_shuffle_epi8(pixels, taps01), pair(high + k), pair(low + k));
      add_products(odd, _mm256_shuffle_epi8(pixels, taps23), pair(high + k + 2), pair(low + k + 2));
    }
    const Sums sums{_mm256_add_epi32(even.high, odd.high), _mm256_add_epi32(even.low, odd.low)};
    const __m256i words = _mm256_packs_epi32(finish(sums), _mm256_setzero_si256());
    const __m256i bytes = _mm256_packus_epi16(words, words);
    const int pixel0 = _mm256_extract_epi32(bytes, 0);
    const int pixel1 = _mm256_extract_epi32(bytes, 4);
    std::memcpy(target0 + 3 * x, &pixel0, 3);
    std::memcpy(target1 + 3 * x, &pixel1, 3);
  }
}

VITRINE_AVX2 void horizontal(const PixelRows& source, const TapTable& taps, std::uint8_t* target) {
  const std::int64_t row_bytes = 3 * source.width;
  const std::int64_t target_bytes = 3 * taps.size();
  // Rows that end too near the end of the picture are read from a copy.
  const std::uint8_t* last_safe = source.data + (source.rows - 1) * source.stride - kOverread;
  std::vector<std::uint8_t> copies(static_cast<std::size_t>(2 * (row_bytes + kOverread)));
  const auto readable = [&](std::int64_t y, std::int64_t slot) {
    const std::uint8_t* row = source.data + y * source.stride;
    if (row <= last_safe) return row;
    std::uint8_t* copy = copies.data() + slot * (row_bytes + kOverread);
    std::memcpy(copy, row, static_cast<std::size_t>(row_bytes));
    return static_cast<const std::uint8_t*>(copy);
  };
  for (std::int64_t y = 0; y < source.rows; y += 2) {
    const std::int64_t next = std::min(y + 1, source.rows - 1);  // an odd last row is computed twice
    horizontal_rows(readable(y, 0), readable(next, 1), taps, target + y * target_bytes,
                    target + next * target_bytes);
  }
}

constexpr std::int64_t kBlock = 32;  // bytes of a register

/// One block of columns of one output row.
VITRINE_AVX2 void vertical_block(const std::uint8_t* column, std::int64_t stride, std::int64_t count,
                                 const std::int16_t* high, const std::int16_t* low, std::uint8_t* target) {
  const __m256i zero = _mm256_setzero_si256();
  Sums sums[4] = {{zero, zero}, {zero, zero}, {zero, zero}, {zero, zero}};
  for (std::int64_t k = 0; k < count; k += 2) {
    const std::uint8_t* row0 = column + k * stride;
    const std::uint8_t* row1 = k + 1 < count ? row0 + stride : row0;  // its weight is 0 then
    const __m256i bytes0 = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(row0));
    const __m256i bytes1 = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(row1));
    const __m256i near = _mm256_unpacklo_epi8(bytes0, bytes1);
    const __m256i far = _mm256_unpackhi_epi8(bytes0, bytes1);
    const __m256i weight_high = pair(high + k);
    const __m256i weight_low = pair(low + k);
    add_products(sums[0], _mm256_unpacklo_epi8(near, zero), weight_high, weight_low);
    add_products(sums[1], _mm256_unpackhi_epi8(near, zero), weight_high, weight_low);
    add_products(sums[2], _mm256_unpacklo_epi8(far, zero), weight_high, weight_low);
    add_products(sums[3], _mm256_unpackhi_epi8(far, zero), weight_high, weight_low);
  }
  // Packing undoes the unpacking, lane by lane, and clips.
  const __m256i words0 = _mm256_packs_epi32(finish(sums[0]), finish(sums[1]));
  const __m256i words1 = _mm256_packs_epi32(finish(sums[2]), finish(sums[3]));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(target), _mm256_packus_epi16(words0, words1));
}

VITRINE_AVX2 void vertical(const PixelRows& source, const TapTable& taps, std::uint8_t* target) {
  const std::int64_t row_bytes = 3 * source.width;
  if (row_bytes < kBlock) return portable_kernels().vertical(source, taps, target);
  for (std::int64_t y = 0; y < taps.size(); ++y, target += row_bytes) {
    const auto i = static_cast<std::size_t>(y);
    const std::uint8_t* row = source.data + taps.first[i] * source.stride;
    const std::int16_t* high = taps.high.data() + y * taps.stride;
    const std::int16_t* low = taps.low.data() + y * taps.stride;
    for (std::int64_t x = 0; x < row_bytes; x += kBlock) {
      const std::int64_t begin = std::min(x, row_bytes - kBlock);  // the last block overlaps the one before
      vertical_block(row + begin, source.stride, taps.count[i], high, low, target + begin);
    }
  }
}

}  // namespace

const ResampleKernels* avx2_kernels() {
  static constexpr ResampleKernels kernels{horizontal, vertical};
  static const bool available = __builtin_cpu_supports("avx2") != 0;
  return available ? &kernels : nullptr;
}

}  // namespace vit::io

#else

namespace vit::io {

const ResampleKernels* avx2_kernels() {
  return nullptr;
}

}  // namespace vit::io

#endif
