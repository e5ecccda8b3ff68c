// Writes safetensors files of f32 tensors, of f32 values as f16 or bf16, and of 8-bit integers, in one go or
// as the values come.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vit/file.hpp"
#include "vit/tensor.hpp"
#include "vit/weights.hpp"

namespace vit::io {

using SafetensorsMetadata = std::map<std::string, std::string>;

/// How the tensors of a file are stored.
struct FileDTypes {
  FileDTypes(DType of_most = DType::f32) : most(of_most) {}

  DType most;
  std::map<std::string, DType, std::less<>> others;  ///< by name; not in a file with a growing tensor
};

/// Names and shapes first, values later and in any order of the tensors; the file appears complete in
/// finish(), or not at all. No more than one write's values are in memory.
///
///   SafetensorsWriter writer("out.safetensors", {{"pixel_values", {SafetensorsWriter::kGrowing, 3, 224,
///   224}}}); for (…) writer.write("pixel_values", picture); writer.finish();
class SafetensorsWriter {
 public:
  /// As the first dimension of the last tensor: as many rows as are written in the end.
  static constexpr std::int64_t kGrowing = -1;

  /// Throws Error: output_unwritable (at once, not after the work is done), invalid_argument (the same name
  /// twice, kGrowing elsewhere).
  SafetensorsWriter(const std::filesystem::path& target, std::vector<TensorSpec> tensors,
                    const SafetensorsMetadata& metadata = {}, const FileDTypes& dtypes = {});

  /// Appends to a tensor's values, row-major; they are rounded to its dtype. Throws Error:
  /// output_unwritable, invalid_argument (unknown name, or more values than the shape has, or of i8).
  void write(std::string_view name, std::span<const float> values);
  /// The same of an i8 tensor.
  void write_levels(std::string_view name, std::span<const std::int8_t> levels);

  /// Writes the header and puts the file in place. Throws Error: output_unwritable, invalid_argument (a
  /// tensor lacks values, or the growing one's last row does).
  void finish();

 private:
  struct Region {
    TensorSpec spec;
    DType dtype = DType::f32;
    std::uint64_t begin = 0;    ///< byte within the data
    std::uint64_t written = 0;  ///< elements
  };

  void lay_out();
  Region& region(std::string_view name);
  void append(Region& to, std::span<const std::byte> bytes);
  std::string header(bool widest) const;

  AtomicFile file_;
  std::vector<Region> regions_;
  SafetensorsMetadata metadata_;
  std::uint64_t data_offset_ = 0;  ///< byte within the file; known before the growing dimension is
};

/// The same in one call.
void write_safetensors(const std::filesystem::path& target,
                       const std::vector<std::pair<std::string, ConstTensorView>>& tensors,
                       const SafetensorsMetadata& metadata = {});

}  // namespace vit::io
