// Pictures whose class is known: a folder with a sub-folder for each class, or a list in a CSV file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "io/input_sequence.hpp"

namespace vit::io {

/// Pictures by number, and the classes as the data set calls them.
struct LabelledPictures {
  std::vector<std::string> classes;        ///< no two the same
  std::vector<std::int32_t> class_of;      ///< of each picture: which of `classes`
  std::function<Input(std::size_t)> open;  ///< the picture of a number below class_of.size(); thread-safe

  std::size_t size() const { return class_of.size(); }
};

/// The pictures (io/folder_listing.hpp) in the sub-folders of `folder` and in theirs, class by class in
/// natural order; hidden entries are skipped. Throws Error naming the folder: invalid_argument if it has no
/// sub-folders, or pictures beside them; no_input if there is no picture in one of them; image_unreadable.
LabelledPictures read_labelled_folder(const std::string& folder);

/// A CSV or TSV file (io/csv.hpp) of paths and classes. Paths are relative to the file's folder. A first line
/// that names the columns (path, file, filename, image, input or picture, and label, class, truth, target or
/// category) may have others too and any order, else there are two columns. Throws Error naming the file and
/// the line: invalid_argument; no_input if there is no picture.
LabelledPictures read_labelled_list(const std::string& file);

/// The first or the second of these. Throws also Error(invalid_argument) if there is nothing of this name.
LabelledPictures read_labelled_pictures(const std::string& path);

/// All pictures of a set, one after the other. The set outlives it.
class LabelledSequence : public InputSequence {
 public:
  explicit LabelledSequence(const LabelledPictures& pictures) : pictures_(pictures) {}

  std::optional<Input> next() override;
  std::size_t look_ahead(std::size_t most) override;
  std::optional<std::int64_t> total() const override;

 private:
  const LabelledPictures& pictures_;
  std::size_t next_ = 0;
};

}  // namespace vit::io
