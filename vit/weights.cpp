#include "vit/weights.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <string_view>

#include "vit/error.hpp"

namespace vit {
namespace {

static_assert(std::endian::native == std::endian::little,
              "weight files are little-endian and are not swapped");
static_assert(std::numeric_limits<float>::is_iec559);

// The loops below have no branches and no table, so that every compiler vectorises them for plain x86-64 as
// well.

float widen_f16(std::uint16_t half) {
  const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000U) << 16U;
  const std::uint32_t magnitude = half & 0x7FFFU;
  // Normal, infinite or NaN: shift into place, add 224 to the exponent, so that 31 becomes 255, the exponent
  // of infinities; the product with 2^-112 is then exact and corrects finite exponents to e - 15 + 127.
  const float normal = std::bit_cast<float>((magnitude << 13U) + (224U << 23U)) * 0x1p-112F;
  // Zero or subnormal: the bits become the lowest ones of a float in [0.5, 1), whose unit is 2^-24, f16's
  // own.
  const float subnormal = std::bit_cast<float>(magnitude | (126U << 23U)) - 0.5F;
  const std::uint32_t is_normal = magnitude >= 0x0400U ? ~0U : 0U;
  return std::bit_cast<float>(sign | (std::bit_cast<std::uint32_t>(normal) & is_normal) |
                              (std::bit_cast<std::uint32_t>(subnormal) & ~is_normal));
}

float widen_bf16(std::uint16_t upper_half) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(upper_half) << 16U);
}

// memcpy, because a tensor may begin at any byte of its file.
template <float (*widen)(std::uint16_t)>
void widen_all(const std::byte* src, std::int64_t size, float* dst) {
  for (std::int64_t i = 0; i < size; ++i) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, src + 2 * i, sizeof bits);
    dst[i] = widen(bits);
  }
}

/// Rows of integers times the scale of each.
void scale_levels(const WeightPart& part, std::int64_t row_size, float* dst) {
  const auto* levels = reinterpret_cast<const std::int8_t*>(part.data);
  for (std::int64_t row = 0; row < part.size / row_size; ++row) {
    const float scale = part.row_scales[row];
    for (std::int64_t i = 0; i < row_size; ++i)
      dst[row * row_size + i] = static_cast<float>(levels[row * row_size + i]) * scale;
  }
}

void copy_straight(const WeightPart& part, std::int64_t row_size, float* dst) {
  switch (part.dtype) {
    case DType::f32:
      std::memcpy(dst, part.data, static_cast<std::size_t>(part.size) * sizeof(float));
      return;
    case DType::f16:
      widen_all<widen_f16>(part.data, part.size, dst);
      return;
    case DType::bf16:
      widen_all<widen_bf16>(part.data, part.size, dst);
      return;
    case DType::i8:
      scale_levels(part, row_size, dst);
      return;
  }
}

/// src [columns, rows] -> dst [rows, columns]
void transpose(const float* src, std::int64_t rows, std::int64_t columns, float* dst) {
  constexpr std::int64_t kTile =
      32;  // of both, so that neither side's cache lines are fetched more than once
  for (std::int64_t r0 = 0; r0 < rows; r0 += kTile) {
    for (std::int64_t c0 = 0; c0 < columns; c0 += kTile) {
      for (std::int64_t r = r0; r < std::min(rows, r0 + kTile); ++r) {
        for (std::int64_t c = c0; c < std::min(columns, c0 + kTile); ++c)
          dst[r * columns + c] = src[c * rows + r];
      }
    }
  }
}

void copy_part(const WeightPart& part, std::int64_t row_size, float* dst) {
  if (part.transposed_rows == 0) return copy_straight(part, row_size, dst);
  Tensor stored({part.size});
  copy_straight(part, row_size, stored.data());
  transpose(stored.data(), part.transposed_rows, part.size / part.transposed_rows, dst);
}

// FNV-1a: the values of a tensor depend on the seed and its name, not on what stands before it in the table.
std::uint64_t hash_name(std::string_view name, std::uint64_t seed) {
  std::uint64_t hash = 0xCBF29CE484222325U ^ seed;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
  return hash;
}

// SplitMix64 (Steele, Lea, Flood 2014): the i-th output costs the same as the first.
std::uint64_t splitmix64(std::uint64_t state) {
  state = (state ^ (state >> 30U)) * 0xBF58476D1CE4E5B9U;
  state = (state ^ (state >> 27U)) * 0x94D049BB133111EBU;
  return state ^ (state >> 31U);
}

// Sum of four uniform 16-bit numbers (Irwin-Hall), close to normal, brought to mean 0 and variance 1.
float nearly_normal(std::uint64_t bits) {
  const auto sum = static_cast<std::int32_t>((bits & 0xFFFFU) + ((bits >> 16U) & 0xFFFFU) +
                                             ((bits >> 32U) & 0xFFFFU) + (bits >> 48U));
  constexpr float kInverseSigma = 1.7320508F / 65536.0F;  // variance of the sum: 4 * 65536^2 / 12
  return static_cast<float>(sum - 2 * 65535) * kInverseSigma;
}

void fill_random(float* dst, std::int64_t size, std::uint64_t state, float mean) {
  constexpr float kSigma = 0.02F;  // the initialisation of the ViT papers
  for (std::int64_t i = 0; i < size; ++i) {
    state += 0x9E3779B97F4A7C15U;
    dst[i] = mean + kSigma * nearly_normal(splitmix64(state));
  }
}

}  // namespace

std::int64_t WeightView::row_size() const {
  return element_count(std::span(shape).subspan(shape.empty() ? 0 : 1));
}

void WeightView::copy_to(float* dst) const {
  std::int64_t done = 0;
  for (const WeightPart& part : parts) {
    done += part.size;
    const bool whole_rows = part.row_scales != nullptr && part.transposed_rows == 0 &&
                            part.size % std::max<std::int64_t>(row_size(), 1) == 0;
    if (part.dtype == DType::i8 && !whole_rows)
      throw Error(ErrorCode::internal, "8-bit weights without the scales of their rows");
  }
  if (done != size()) {
    throw Error(ErrorCode::internal,
                fmt::format("a weight of shape {} has {} elements in its parts", to_string(shape), done));
  }
  for (const WeightPart& part : parts) {
    if (part.size > 0) copy_part(part, row_size(), dst);
    dst += part.size;
  }
}

Tensor WeightView::to_tensor() const {
  Tensor tensor(shape);
  copy_to(tensor.data());
  return tensor;
}

WeightView WeightView::rows(std::int64_t begin, std::int64_t count) const {
  if (shape.empty() || begin < 0 || count < 0 || begin + count > shape.front()) {
    throw Error(ErrorCode::internal,
                fmt::format("rows {} to {} of a weight of shape {}", begin, begin + count, to_string(shape)));
  }
  std::int64_t skip = begin * row_size();
  std::int64_t left = count * row_size();
  WeightView result{shape, {}};
  result.shape.front() = count;
  for (const WeightPart& part : parts) {
    const std::int64_t first = std::min(skip, part.size);
    const std::int64_t taken = std::min(left, part.size - first);
    skip -= first;
    left -= taken;
    if (taken == 0) continue;
    if (part.transposed_rows != 0 && taken != part.size)
      throw Error(ErrorCode::internal, "rows of a transposed weight cannot be taken apart");
    const float* const scales = part.row_scales == nullptr ? nullptr : part.row_scales + first / row_size();
    result.parts.push_back(
        {part.data + first * size_of(part.dtype), part.dtype, taken, part.transposed_rows, scales});
  }
  return result;
}

LinearWeights LinearWeights::rows(std::int64_t first, std::int64_t count) const {
  return {weight.rows(first, count), bias.empty() ? WeightView{} : bias.rows(first, count)};
}

LinearWeights ungrouped_qkv(const ModelConfig& config, const BlockWeights& block) {
  if (block.q.weight.empty()) return block.qkv;
  const std::int64_t d = config.head_size();
  const std::int64_t shared_by = config.num_heads / config.num_kv_heads;
  LinearWeights qkv = block.q;
  const auto append = [&](const WeightView& rows, WeightView& to) {
    to.shape.front() += rows.shape.front();
    to.parts.insert(to.parts.end(), rows.parts.begin(), rows.parts.end());
  };
  for (std::int64_t head = 0; head < 2 * config.num_heads; ++head) {  // those of k, then those of v
    const LinearWeights rows = block.kv.rows(head / shared_by * d, d);
    append(rows.weight, qkv.weight);
    if (!qkv.bias.empty()) append(rows.bias, qkv.bias);
  }
  return qkv;
}

double initial_lambda(std::int64_t block) {
  return 0.8 - 0.6 * std::exp(-0.3 * static_cast<double>(block));
}

std::vector<TensorSpec> tensor_table(const ModelConfig& config) {
  std::vector<TensorSpec> table;
  Weights weights;
  for_each_tensor(config, weights, [&](const TensorSpec& spec, WeightView&) { table.push_back(spec); });
  return table;
}

std::int64_t parameter_count(const ModelConfig& config) {
  std::int64_t count = 0;
  for (const TensorSpec& spec : tensor_table(config)) count += element_count(spec.shape);
  return count;
}

Weights random_weights(const ModelConfig& config, std::uint64_t seed) {
  Weights weights;
  auto values = std::make_shared<Tensor>(Shape{parameter_count(config)});
  float* next = values->data();
  for_each_tensor(config, weights, [&](const TensorSpec& spec, WeightView& view) {
    const std::int64_t size = element_count(spec.shape);
    const bool is_scale = spec.shape.size() == 1 &&
                          !spec.name.ends_with(".bias") &&  // norms' and layer scales' gamma
                          spec.name.find(".lambda_") == std::string::npos;
    fill_random(next, size, hash_name(spec.name, seed), is_scale ? 1.0F : 0.0F);
    view.shape = spec.shape;
    view.parts = {WeightPart{reinterpret_cast<const std::byte*>(next), DType::f32, size}};
    next += size;
  });
  weights.storage = std::move(values);
  return weights;
}

}  // namespace vit
