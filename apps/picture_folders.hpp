// Pictures that `vitrine classify` leaves beside its rows: sorted by label, or with their labels drawn on
// them.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/common.hpp"
#include "apps/output_folder.hpp"
#include "apps/rows.hpp"
#include "io/classifier.hpp"
#include "io/labels.hpp"

namespace vit::apps {

/// --sort-into, --sort-with and --annotate.
struct PictureFolderOptions {
  std::string sort_into;  ///< empty: not wanted
  std::string sort_with = "link";
  std::string annotate;  ///< empty: not wanted

  bool any() const { return !sort_into.empty() || !annotate.empty(); }
};

void add_picture_folder_options(CLI::App& command, PictureFolderOptions& options);

/// A folder with a file for each picture that has an answer.
class PictureFolder {
 public:
  virtual ~PictureFolder() = default;

  /// Makes the file in memory, or nothing if put() does not need it. By any thread.
  virtual std::vector<std::byte> make(const io::ClassifiedPicture& picture, const Row& row) const = 0;
  /// Puts it in place. `name` is without extension. Throws Error(output_unwritable).
  virtual void put(const Row& row, const std::string& name, const std::vector<std::byte>& file) = 0;
};

/// All of one run. A run that has not come to its end leaves a mark in its folders, so that only these are
/// gone on with by --resume: a folder with anything else in it is refused.
class PictureFolders {
 public:
  enum class Existing { refused, continued };

  /// Throws Error: invalid_argument (a folder that has files, or that is read), output_unwritable.
  PictureFolders(const PictureFolderOptions& options, const InputArguments& inputs, const io::Labels& labels,
                 Existing existing);

  /// One file for each folder. By any thread.
  io::Attachments make(const io::ClassifiedPicture& picture, const Row& row) const;

  /// For each input, in order: either of them.
  void skip(const io::Input& input);
  void put(const Row& row, const io::Attachments& files);

  /// Once, if all inputs had their turn.
  void finish();

 private:
  std::vector<std::filesystem::path> paths_;
  std::vector<std::unique_ptr<PictureFolder>> folders_;
  OutputNames names_;
};

}  // namespace vit::apps
