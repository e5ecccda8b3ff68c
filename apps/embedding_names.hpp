// What lies beside a file of embeddings, FILE.jsonl: one line about the model that made it, then one for each
// row of the file, with the picture that it stands for.
//
//   {"vitrine_embeddings":1,"model":"/models/dinov2","pool":"features",…}
//   {"input":"cat.jpg"}
//   {"input":"clip.mp4","frame":12,"seconds":0.48}
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apps/common.hpp"
#include "io/embedder.hpp"
#include "io/input.hpp"
#include "vit/file.hpp"

namespace vit::apps {

/// Which model made embeddings, and how: enough to embed another picture in the same way.
struct EmbeddingOrigin {
  std::string model;  ///< absolute path, or name on the hub
  std::string architecture;
  std::string image_size;  ///< as --image-size; empty: not given
  std::string patch_size;
  std::string precision;  ///< that the network really ran in
  io::EmbeddingOptions options;
  std::vector<float> test_picture;  ///< io::embed_test_picture; empty: of patches, which nobody compares
};

/// What the options and the model behind them say; embeds the test picture.
EmbeddingOrigin embedding_origin(const CommonOptions& common, const std::filesystem::path& model_path,
                                 const io::EmbeddingOptions& options,
                                 const std::shared_ptr<const io::PictureModel>& model);

/// FILE.jsonl
std::filesystem::path names_path(const std::filesystem::path& array);

class EmbeddingNamesWriter {
 public:
  /// Throws Error(output_unwritable), as the others.
  EmbeddingNamesWriter(const std::filesystem::path& array, const EmbeddingOrigin& origin);

  void add(std::string_view input, const std::optional<io::FramePosition>& frame);
  void finish();

 private:
  void append(std::string_view line);

  AtomicFile file_;
};

/// A picture that a row stands for.
struct EmbeddedPicture {
  std::string input;
  std::optional<io::FramePosition> frame;
};

/// The same file, mapped. Reading is thread-safe.
class EmbeddingNames {
 public:
  /// Throws Error(tensor_invalid) naming the file: missing, another kind of file, another number of rows than
  /// the array has.
  EmbeddingNames(const std::filesystem::path& array, std::int64_t rows);

  const EmbeddingOrigin& origin() const { return origin_; }
  /// Throws Error(tensor_invalid) if the line is no row.
  EmbeddedPicture picture(std::int64_t row) const;

 private:
  std::string_view line(std::size_t begin) const;

  MappedFile file_;
  EmbeddingOrigin origin_;
  std::vector<std::size_t> marks_;  // where every so many-th row's line begins
};

}  // namespace vit::apps
