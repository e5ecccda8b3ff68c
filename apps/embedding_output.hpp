// Embeddings to where they go: rows of JSON, or an array and the names of its rows.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "apps/embedding_names.hpp"
#include "io/embedder.hpp"
#include "vit/error.hpp"

namespace vit::apps {

class EmbeddingOutput {
 public:
  virtual ~EmbeddingOutput() = default;

  /// Throws Error: output_unwritable; image_unsupported if it has no place beside the ones before it, which
  /// leaves these as they are.
  virtual void add(const io::Embedding& embedding) = 0;
  /// What failed has a row only where rows say so.
  virtual void add_error(const io::Embedding& /*failed*/, const Error& /*error*/) {}
  /// Makes what there is visible to a reader of standard output.
  virtual void flush() {}
  /// Once, in the end.
  virtual void finish() = 0;
};

/// {"input": …, "embedding": [numbers]}; of patches an array for each, row of patches by row of patches.
/// `path` empty or "-": standard output.
std::unique_ptr<EmbeddingOutput> make_json_embeddings(const std::string& path);

/// float32 [pictures, …row shape] in .npy or, as the tensor "embeddings", .safetensors, and names_path(path)
/// beside it. `row_shape` is that of a file without pictures: the first one decides. Throws
/// Error(output_unwritable).
std::unique_ptr<EmbeddingOutput> make_array_embeddings(std::string_view format, const std::string& path,
                                                       const EmbeddingOrigin& origin, const Shape& row_shape);

}  // namespace vit::apps
