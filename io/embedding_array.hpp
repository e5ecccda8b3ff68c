// A file of embeddings as it lies on disk, and an exact search for the nearest of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "vit/file.hpp"

namespace vit::io {

/// The vectors of a file, [N, D] f32, mapped: opening costs the header only. Move-only; reading is
/// thread-safe.
class EmbeddingArray {
 public:
  /// A .npy file of one array, or a safetensors file with the tensor "embeddings". Throws
  /// Error(tensor_invalid) naming the file: another format, type or number of axes, fewer bytes than its
  /// header promises.
  explicit EmbeddingArray(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return file_.path(); }
  std::int64_t rows() const { return rows_; }
  std::int64_t width() const { return width_; }  ///< D
  /// Of so many rows, row-major, little-endian; may be misaligned.
  std::span<const std::byte> bytes(std::int64_t first, std::int64_t count) const;
  /// Gives these rows' memory back to the system; it returns from the file when they are read again.
  void release(std::span<const std::byte> rows) const { file_.release_pages(rows); }

 private:
  MappedFile file_;
  std::span<const std::byte> values_;
  std::int64_t rows_ = 0;
  std::int64_t width_ = 0;
};

struct Neighbour {
  std::int64_t row = 0;
  float score = 0;  ///< cosine similarity, q·x / (‖q‖₂ ‖x‖₂); 0 where one of them is zero
};

/// The k rows nearest to each query, nearest first, equal ones in the order of the file; all where there are
/// fewer. Reads every row once, in blocks, on so many threads; memory does not grow with the number of rows.
/// Queries have the array's width. Throws Error(tensor_invalid) for a row with NaN, infinity, or numbers
/// whose squares are beyond f32.
std::vector<std::vector<Neighbour>> find_nearest(const EmbeddingArray& array,
                                                 std::span<const std::span<const float>> queries,
                                                 std::int64_t k, int threads);

/// q·x / (‖q‖₂ ‖x‖₂), in double precision; 0 where one of them is zero.
double cosine_similarity(std::span<const float> q, std::span<const float> x);

}  // namespace vit::io
