#include "vit/backend/row_kernels.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

// Each loop is written once, in vectors of the compiler's, and inlined into functions that are compiled for
// one instruction set each. Left to itself the compiler vectorises neither minima (NaNs forbid it) nor rows
// whose length is no multiple of a register.
#define VITRINE_INLINE inline __attribute__((always_inline))
#define VITRINE_LAMBDA __attribute__((always_inline))
#if defined(__x86_64__) && defined(__GNUC__)
#define VITRINE_DISPATCH 1
#endif
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wpsabi"  // vectors are handed to inlined functions only
#endif

namespace vit::backend {
namespace {

constexpr std::int64_t kWidest = 16;

template <class T, std::int64_t W>
struct VectorOf {
  typedef T type __attribute__((vector_size(W * sizeof(T))));
};
template <std::int64_t W>
using Floats = typename VectorOf<float, W>::type;
template <std::int64_t W>
using Bits = typename VectorOf<std::uint32_t, W>::type;
template <std::int64_t W>
using Ints = typename VectorOf<std::int32_t, W>::type;

template <std::int64_t W>
VITRINE_INLINE Floats<W> load(const float* from) {
  Floats<W> x;
  std::memcpy(&x, from, sizeof x);
  return x;
}

template <std::int64_t W>
VITRINE_INLINE Floats<W> load(const bf16_t* from) {
  typename VectorOf<bf16_t, W>::type halves;
  std::memcpy(&halves, from, sizeof halves);
  return (Floats<W>)(__builtin_convertvector(halves, Bits<W>) << 16);
}

template <std::int64_t W>
VITRINE_INLINE void store(Floats<W> x, float* to) {
  std::memcpy(to, &x, sizeof x);
}

/// Rounded to nearest, ties to even. NaN stays NaN: what the carry would make of it is replaced.
template <std::int64_t W>
VITRINE_INLINE void store(Floats<W> x, bf16_t* to) {
  const auto bits = (Bits<W>)x;
  const Bits<W> rounded = (bits + 0x7FFFU + ((bits >> 16) & 1U)) >> 16;
  const Bits<W> kept = x == x ? rounded : (bits >> 16) | 0x40U;
  const auto halves = __builtin_convertvector(kept, typename VectorOf<bf16_t, W>::type);
  std::memcpy(to, &halves, sizeof halves);
}

/// bf16 that is written by the processor's own instruction.
struct HardwareBf16 {
  bf16_t bits;
};

template <std::int64_t W>
VITRINE_INLINE Floats<W> load(const HardwareBf16* from) {
  return load<W>(&from->bits);
}

#ifdef VITRINE_DISPATCH
/// As assembly: the compiler's function for it exists within functions for such processors only, and this one
/// is inlined into several. Numbers below 2⁻¹²⁶ become zero.
template <std::int64_t W>
VITRINE_INLINE void store(Floats<W> x, HardwareBf16* to) {
  if constexpr (W == kWidest) {
    typename VectorOf<bf16_t, W>::type halves;
    asm("vcvtneps2bf16 %1, %0" : "=v"(halves) : "v"(x));
    std::memcpy(to, &halves, sizeof halves);
  } else {
    store<W>(x, &to->bits);
  }
}
#endif

/// Of whole numbers from 0 to 255.
template <std::int64_t W>
VITRINE_INLINE void store(Floats<W> x, std::uint8_t* to) {
  const auto levels =
      __builtin_convertvector(__builtin_convertvector(x, Ints<W>), typename VectorOf<std::uint8_t, W>::type);
  std::memcpy(to, &levels, sizeof levels);
}

// NaNs in the first operand stay.
template <class V>
VITRINE_INLINE V at_least(V x, float low) {
  return x < low ? V{} + low : x;
}

template <class V>
VITRINE_INLINE V at_most(V x, float high) {
  return x > high ? V{} + high : x;
}

/// The nearest whole number of |x| < 2²²: adding 1.5 · 2²³ leaves no bits for fractions.
template <class V>
VITRINE_INLINE V nearest(V x) {
  constexpr float kShift = 12582912.0F;
  return (x + kShift) - kShift;
}

/// eˣ: 2ⁿ times a polynomial for the rest, |r| ≤ ln 2 / 2. The coefficients are those of the Taylor series up
/// to the 7th power, whose remainder is below 2⁻²⁶: within 2 units of the last place. If it is for bf16, up
/// to the 4th, whose remainder is below 2⁻¹⁴.
template <std::int64_t W, bool for_bf16 = false>
VITRINE_INLINE Floats<W> exponential(Floats<W> x) {
  x = at_most(at_least(x, -87.0F), 88.0F);
  const Floats<W> n = nearest(x * 1.44269504F);
  const Floats<W> r =
      (x - n * 0.693359375F) - n * -2.12194440e-4F;  // ln 2 in two parts, the first exact in n
  Floats<W> p = Floats<W>{} + 1.0F / 24;
  if constexpr (!for_bf16) {
    p = r * (1.0F / 5040) + 1.0F / 720;
    p = p * r + 1.0F / 120;
    p = p * r + 1.0F / 24;
  }
  p = p * r + 1.0F / 6;
  p = p * r + 0.5F;
  p = p * r + 1.0F;
  p = p * r + 1.0F;
  const Ints<W> power = (__builtin_convertvector(n, Ints<W>) + 127) << 23;
  return p * (Floats<W>)power;
}

template <std::int64_t W>
VITRINE_INLINE Floats<W> logistic(Floats<W> x) {
  return 1 / (1 + exponential<W>(-x));
}

/// erf within 1.5e-7 (Abramowitz and Stegun, Handbook of Mathematical Functions, 7.1.26).
template <std::int64_t W>
VITRINE_INLINE Floats<W> error_function(Floats<W> x) {
  const Bits<W> sign = (Bits<W>)x & 0x80000000U;
  const auto magnitude = (Floats<W>)((Bits<W>)x ^ sign);
  const Floats<W> t = 1 / (1 + 0.3275911F * magnitude);
  const Floats<W> p =
      t * (0.254829592F + t * (-0.284496736F + t * (1.421413741F + t * (-1.453152027F + t * 1.061405429F))));
  const Floats<W> erf = 1 - p * exponential<W>(-magnitude * magnitude);
  return (Floats<W>)((Bits<W>)erf ^ sign);
}

template <RowActivation activation, std::int64_t W>
VITRINE_INLINE Floats<W> activate(Floats<W> x) {
  switch (activation) {
    case RowActivation::gelu:
      return 0.5F * x * (1 + error_function<W>(x * 0.707106781F));
    case RowActivation::gelu_tanh:  // tanh(z) = 2 σ(2 z) − 1
      return x * logistic<W>(1.59576912F * (x + 0.044715F * x * x * x));
    case RowActivation::quick_gelu:
      return x * logistic<W>(1.702F * x);
    case RowActivation::relu:
      return at_least(x, 0.0F);
    case RowActivation::silu:
      return x * logistic<W>(x);
    case RowActivation::none:
      return x;
  }
  return x;
}

/// A width as an argument, for lambdas that work on vectors of it.
template <std::int64_t W>
struct Width {
  static constexpr std::int64_t value = W;
};

/// The loops, in vectors of one width: that of the registers, since the compiler takes comparisons of wider
/// ones apart into single numbers.
template <std::int64_t kWidth>
struct Loops {
  /// to[i] = result(i) for every i of a row: result(width, i) gives those from i on. The row is covered by
  /// whole vectors and one that ends with it and may overlap them; that one is computed before anything is
  /// written, so that the row may be written over what it is computed from.
  template <class Result, class To>
  static VITRINE_INLINE void transform(std::int64_t size, Result result, To* to) {
    if (size < kWidth) {
      for (std::int64_t i = 0; i < size; ++i) store<1>(result(Width<1>{}, i), to + i);
      return;
    }
    const Floats<kWidth> last = result(Width<kWidth>{}, size - kWidth);
    for (std::int64_t i = 0; i + kWidth <= size; i += kWidth)
      store<kWidth>(result(Width<kWidth>{}, i), to + i);
    store<kWidth>(last, to + size - kWidth);
  }

  /// Joins the lanes of a vector, halves of it at a time.
  template <std::int64_t W, class Join>
  static VITRINE_INLINE float join_halves(Floats<W> lanes, Join join) {
    if constexpr (W == 1) {
      return lanes[0];
    } else {
      Floats<W / 2> low;
      Floats<W / 2> high;
      std::memcpy(&low, &lanes, sizeof low);
      std::memcpy(&high, static_cast<const char*>(static_cast<const void*>(&lanes)) + sizeof low,
                  sizeof high);
      return join_halves<W / 2>(join(low, high), join);
    }
  }

  /// Joins value(i) for every i of a row; `identity` is what joining leaves things as they are with.
  template <class Value, class Join>
  static VITRINE_INLINE float fold(std::int64_t size, float identity, Value value, Join join) {
    float result = identity;
    if (size < kWidth) {
      for (std::int64_t i = 0; i < size; ++i) result = join(result, value(Width<1>{}, i)[0]);
      return result;
    }
    Ints<kWidth> lane;
    for (int l = 0; l < kWidth; ++l) lane[l] = l;
    const Floats<kWidth> start = Floats<kWidth>{} + identity;
    Floats<kWidth> lanes = start;
    std::int64_t i = 0;
    if (size >= 4 * kWidth) {  // four at a time: one joining need not wait for the one before it
      Floats<kWidth> b = start;
      Floats<kWidth> c = start;
      Floats<kWidth> d = start;
      for (; i + 4 * kWidth <= size; i += 4 * kWidth) {
        lanes = join(lanes, value(Width<kWidth>{}, i));
        b = join(b, value(Width<kWidth>{}, i + kWidth));
        c = join(c, value(Width<kWidth>{}, i + 2 * kWidth));
        d = join(d, value(Width<kWidth>{}, i + 3 * kWidth));
      }
      lanes = join(join(lanes, b), join(c, d));
    }
    for (; i + kWidth <= size; i += kWidth) lanes = join(lanes, value(Width<kWidth>{}, i));
    const auto seen = static_cast<std::int32_t>(kWidth - (size - i));  // of the last vector
    const Floats<kWidth> last = value(Width<kWidth>{}, size - kWidth);
    lanes = join(lanes, lane < seen ? start : last);
    return join_halves<kWidth>(lanes, join);
  }

  static constexpr auto kSum = [](auto a, auto b) VITRINE_LAMBDA { return a + b; };
  static constexpr auto kMinimum = [](auto a, auto b) VITRINE_LAMBDA { return b < a ? b : a; };
  static constexpr auto kMaximum = [](auto a, auto b) VITRINE_LAMBDA { return b > a ? b : a; };

  /// The elements as they are.
  template <class From>
  static VITRINE_INLINE auto elements(const From* x) {
    return [x](auto width, std::int64_t i) VITRINE_LAMBDA { return load<width.value>(x + i); };
  }

  static constexpr float kLeast = -std::numeric_limits<float>::infinity();

  /// The powers of e of a row, before they are stored as To.
  template <class To>
  static VITRINE_INLINE auto powers(const float* x, std::int64_t size) {
    const float largest = fold(size, kLeast, elements(x), kMaximum);
    return [x, largest](auto width, std::int64_t i) VITRINE_LAMBDA {
      constexpr bool kForBf16 = !std::is_same_v<To, float>;
      return exponential<width.value, kForBf16>(load<width.value>(x + i) - largest);
    };
  }

  template <class To>
  static VITRINE_INLINE float exponentials(const float* x, std::int64_t size, To* p) {
    transform(size, powers<To>(x, size), p);
    return fold(size, 0, elements(p), kSum);
  }

  template <class To>
  static VITRINE_INLINE float weighted_exponentials(const float* x, std::int64_t size, const float* w,
                                                    To* p) {
    const auto weighted = [w, power = powers<To>(x, size)](auto width, std::int64_t i)
                              VITRINE_LAMBDA { return load<width.value>(w + i) * power(width, i); };
    transform(size, weighted, p);
    return fold(size, 0, elements(p), kSum);
  }

  static VITRINE_INLINE RowMatch best_row(const float* x, std::int64_t size, const RowSet& rows) {
    RowMatch best{kLeast, 0};
    for (std::int64_t row = 0; row < rows.count; ++row) {
      const float* const y = rows.first + row * rows.stride;
      const auto product = [x, y](auto width, std::int64_t i)
                               VITRINE_LAMBDA { return load<width.value>(x + i) * load<width.value>(y + i); };
      const float sum = fold(size, 0, product, kSum);
      if (sum > best.product) best = {sum, row};
    }
    return best;
  }

  template <class To>
  static VITRINE_INLINE void scale(const float* x, std::int64_t size, float factor, To* y) {
    const auto scaled = [x, factor](auto width, std::int64_t i)
                            VITRINE_LAMBDA { return load<width.value>(x + i) * factor; };
    transform(size, scaled, y);
  }

  /// Of rows with levels of their own; a smaller one's inverse would be infinite, and its numbers become
  /// zeros.
  static constexpr float kSmallestRange = 0x1p-100F;

  template <class From>
  static VITRINE_INLINE RowScale quantise(const From* x, std::int64_t size, std::uint8_t* q) {
    const auto nothing = [x](auto width, std::int64_t i)
                             VITRINE_LAMBDA { return load<width.value>(x + i) * 0; };
    const float low = fold(size, 0, elements(x), kMinimum);
    const float high = fold(size, 0, elements(x), kMaximum);
    const float range = high - low + fold(size, 0, nothing, kSum);  // NaN where anything is not finite
    if (!std::isfinite(range)) {                                    // what is no number must not become one
      std::fill_n(q, size, std::uint8_t{0});
      return {std::numeric_limits<float>::quiet_NaN(), 0};
    }
    const float scale = range > kSmallestRange ? range / 255 : 1;
    const float inverse = 1 / scale;
    const float zero = nearest(-low * inverse);
    const auto level = [x, inverse, zero](auto width, std::int64_t i) VITRINE_LAMBDA {
      return at_most(at_least(nearest(load<width.value>(x + i) * inverse) + zero, 0.0F), 255.0F);
    };
    transform(size, level, q);
    return {scale, static_cast<std::int32_t>(zero)};
  }

  /// Two passes: the variance of what is left without the mean, as oneDNN and PyTorch compute it.
  static VITRINE_INLINE void layer_norm(const float* x, std::int64_t size, const float* gamma,
                                        const float* beta, float epsilon, float* y) {
    const auto count = static_cast<float>(size);
    const float mean = fold(size, 0, elements(x), kSum) / count;
    const auto square = [x, mean](auto width, std::int64_t i) VITRINE_LAMBDA {
      const auto rest = load<width.value>(x + i) - mean;
      return rest * rest;
    };
    const float deviation = std::sqrt(fold(size, 0, square, kSum) / count + epsilon);
    const float factor = 1 / deviation;
    const auto normed = [=](auto width, std::int64_t i) VITRINE_LAMBDA {
      constexpr std::int64_t W = width.value;
      return load<W>(gamma + i) * ((load<W>(x + i) - mean) * factor) + load<W>(beta + i);
    };
    transform(size, normed, y);
  }

  template <RowActivation activation>
  static VITRINE_INLINE auto outputs(const QuantisedSums& row) {
    return [sums = row.sums, zero_sums = row.zero_sums, bias = row.bias, scale = row.input.scale,
            zero = static_cast<float>(row.input.zero)](auto width, std::int64_t i) VITRINE_LAMBDA {
      constexpr std::int64_t W = width.value;
      return activate<activation, W>((load<W>(sums + i) - zero * load<W>(zero_sums + i)) * scale +
                                     load<W>(bias + i));
    };
  }

  template <class To>
  static VITRINE_INLINE void dequantise(const QuantisedSums& row, RowActivation activation, To* y) {
    switch (activation) {
      case RowActivation::none:
        return transform(row.size, outputs<RowActivation::none>(row), y);
      case RowActivation::gelu:
        return transform(row.size, outputs<RowActivation::gelu>(row), y);
      case RowActivation::gelu_tanh:
        return transform(row.size, outputs<RowActivation::gelu_tanh>(row), y);
      case RowActivation::quick_gelu:
        return transform(row.size, outputs<RowActivation::quick_gelu>(row), y);
      case RowActivation::relu:
        return transform(row.size, outputs<RowActivation::relu>(row), y);
      case RowActivation::silu:
        return transform(row.size, outputs<RowActivation::silu>(row), y);
    }
  }

  static VITRINE_INLINE void dequantise_add(const QuantisedSums& row, float* y) {
    const auto output = outputs<RowActivation::none>(row);
    const auto sum = [y, output](auto width, std::int64_t i)
                         VITRINE_LAMBDA { return load<width.value>(y + i) + output(width, i); };
    transform(row.size, sum, y);
  }
};

/// All kernels under one attribute, which may be empty, with a type that bf16 is written as.
#define VITRINE_ROW_KERNELS(NAME, WIDTH, BF16, TARGET)                                                  \
  struct NAME : Loops<WIDTH> {                                                                          \
    TARGET static float exponentials_f32(const float* x, std::int64_t size, float* p) {                 \
      return exponentials(x, size, p);                                                                  \
    }                                                                                                   \
    TARGET static float exponentials_bf16(const float* x, std::int64_t size, bf16_t* p) {               \
      return exponentials(x, size, reinterpret_cast<BF16*>(p));                                         \
    }                                                                                                   \
    TARGET static float weighted_f32(const float* x, std::int64_t size, const float* w, float* p) {     \
      return weighted_exponentials(x, size, w, p);                                                      \
    }                                                                                                   \
    TARGET static float weighted_bf16(const float* x, std::int64_t size, const float* w, bf16_t* p) {   \
      return weighted_exponentials(x, size, w, reinterpret_cast<BF16*>(p));                             \
    }                                                                                                   \
    TARGET static RowMatch best_match(const float* x, std::int64_t size, const RowSet& rows) {          \
      return best_row(x, size, rows);                                                                   \
    }                                                                                                   \
    TARGET static void scale_f32(const float* x, std::int64_t size, float factor, float* y) {           \
      scale(x, size, factor, y);                                                                        \
    }                                                                                                   \
    TARGET static void scale_bf16(const float* x, std::int64_t size, float factor, bf16_t* y) {         \
      scale(x, size, factor, reinterpret_cast<BF16*>(y));                                               \
    }                                                                                                   \
    TARGET static RowScale quantise_f32(const float* x, std::int64_t size, std::uint8_t* q) {           \
      return quantise(x, size, q);                                                                      \
    }                                                                                                   \
    TARGET static RowScale quantise_bf16(const bf16_t* x, std::int64_t size, std::uint8_t* q) {         \
      return quantise(x, size, q);                                                                      \
    }                                                                                                   \
    TARGET static void norm(const float* x, std::int64_t size, const float* gamma, const float* beta,   \
                            float epsilon, float* y) {                                                  \
      layer_norm(x, size, gamma, beta, epsilon, y);                                                     \
    }                                                                                                   \
    TARGET static void dequantise_f32(const QuantisedSums& row, RowActivation activation, float* y) {   \
      dequantise(row, activation, y);                                                                   \
    }                                                                                                   \
    TARGET static void dequantise_bf16(const QuantisedSums& row, RowActivation activation, bf16_t* y) { \
      dequantise(row, activation, reinterpret_cast<BF16*>(y));                                          \
    }                                                                                                   \
    TARGET static void add(const QuantisedSums& row, float* y) { dequantise_add(row, y); }              \
    static constexpr RowKernels kernels{                                                                \
        exponentials_f32, exponentials_bf16, weighted_f32, weighted_bf16, scale_f32,                    \
        scale_bf16,       best_match,        quantise_f32, quantise_bf16, norm,                         \
        dequantise_f32,   dequantise_bf16,   add};                                                      \
  }

VITRINE_ROW_KERNELS(Portable, 4, bf16_t, );
#ifdef VITRINE_DISPATCH
VITRINE_ROW_KERNELS(Avx2, 8, bf16_t, __attribute__((target("avx2,fma"))));
#define VITRINE_AVX512 \
  __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,prefer-vector-width=512")))
VITRINE_ROW_KERNELS(Avx512, kWidest, bf16_t, VITRINE_AVX512);
VITRINE_ROW_KERNELS(Avx512Bf16, kWidest, HardwareBf16, VITRINE_AVX512);
#endif

#ifdef VITRINE_DISPATCH
bool has_avx2() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

bool has_avx512() {
  return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512dq");
}

bool has_avx512_bf16() {
  return has_avx512() && __builtin_cpu_supports("avx512bf16");
}
#endif

}  // namespace

const RowKernels& row_kernels() {
  static const RowKernels best = all_row_kernels().front().kernels;
  return best;
}

std::vector<RowKernelVariant> all_row_kernels() {
  std::vector<RowKernelVariant> all;
#ifdef VITRINE_DISPATCH
  if (has_avx512_bf16()) all.push_back({"avx512_bf16", Avx512Bf16::kernels});
  if (has_avx512()) all.push_back({"avx512", Avx512::kernels});
  if (has_avx2()) all.push_back({"avx2", Avx2::kernels});
#endif
  all.push_back({"portable", Portable::kernels});
  return all;
}

}  // namespace vit::backend
