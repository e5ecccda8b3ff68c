// Sizes of networks whose release has no config.json: read off the tensors. Internal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "io/config_reader.hpp"
#include "io/weight_files.hpp"
#include "vit/tensor.hpp"

namespace vit::io {

/// Heads of 64 numbers, as most networks have; nothing where that does not come out even.
std::optional<std::int64_t> heads_of_64(std::int64_t hidden_size);

/// The side of a square of so many patches; nothing where there is none.
std::optional<std::int64_t> square_side(std::int64_t patches);

/// How many of these tensors there are: a family is recognised by most of its names, so that one that is
/// missing can be reported.
std::size_t count_found(const WeightFiles& files, std::initializer_list<std::string_view> names);

/// Each size by the first of these that there is: what "model_args" of the config says, the shape of a
/// tensor, the value given here. Notes every one in the reader.
class ReleaseSizes {
 public:
  /// Both are referred to. Throws Error(config_invalid).
  ReleaseSizes(ConfigReader& config, const WeightFiles& files)
      : config_(config), args_(config.section("model_args")), files_(files) {}

  /// `axis` of `tensor`. Throws Error(config_invalid) if there is no such number anywhere.
  std::int64_t integer(std::string_view key, std::string_view tensor, std::size_t axis,
                       std::optional<std::int64_t> otherwise = std::nullopt);
  /// Blocks: as many as tensors are called PREFIX0SUFFIX, PREFIX1SUFFIX, …
  std::int64_t blocks(std::string_view key, std::string_view prefix, std::string_view suffix);
  /// `axis` and the next one of `tensor`.
  Size2 patch(std::string_view key, std::string_view tensor, std::size_t axis, Size2 otherwise);
  /// Pixels of a square image whose patches fill the rows of `tensor` [1, prefix + N, D], or `otherwise`.
  Size2 image(std::string_view key, std::string_view tensor, std::int64_t prefix, Size2 patch,
              Size2 otherwise);
  /// Heads: `known` is what the releases of this width have, nothing for a width that none has.
  std::int64_t heads(std::string_view key, std::optional<std::int64_t> known);

  /// The same of a linear layer: `axis` of its weight, or what its bias has where the weight is missing.
  std::int64_t outputs(std::string_view key, std::string_view weight, std::size_t axis,
                       std::string_view bias);

  bool has(std::string_view tensor) const { return files_.find(tensor) != nullptr; }
  /// The tensor's shape, empty if there is none or if it has another number of dimensions.
  Shape shape(std::string_view tensor, std::size_t dimensions) const;
  /// A model_arg that no tensor shows.
  std::optional<std::int64_t> given(std::string_view key) const { return args_.find_integer(key); }

  /// To be called when all sizes are read.
  void finish() { config_.add_resolved(args_); }

 private:
  std::int64_t note(std::string_view key, std::int64_t value, std::string source);

  ConfigReader& config_;
  ConfigReader args_;
  const WeightFiles& files_;
};

}  // namespace vit::io
