// INPUT arguments -> one picture after the other: files, folders, lists of paths.
#pragma once

#include <deque>
#include <filesystem>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "vit/error.hpp"

namespace vit::io {

/// One picture to be looked at, or why there is none. Every Input becomes one row.
struct Input {
  std::string name;  ///< as the user wrote it, or folder/name; bytes of any encoding
  std::optional<Error> error;
};

struct InputOptions {
  bool recursive = false;  ///< look into sub-folders too
  /// Where "-" reads its paths from, one a line. Its buffer should know what has come: std::cin's does after
  /// std::ios::sync_with_stdio(false).
  std::istream* list = nullptr;
};

/// Expands arguments lazily, so that a list is answered as it comes and a folder is read only when its turn
/// has come. A file is passed on unseen: whether it is a picture shows when it is decoded.
/// A folder gives its pictures (by extension) in natural order, hidden entries skipped; one without pictures,
/// or that cannot be read, gives one Input with an error. Not thread-safe.
class InputSource {
 public:
  InputSource(std::vector<std::string> arguments, const InputOptions& options);

  /// The next input, or nothing at the end. Waits for "-".
  std::optional<Input> next();

  /// How many more are certain to come, up to `most`. Of a list, the lines that are there: it is not waited
  /// for.
  std::size_t look_ahead(std::size_t most);

 private:
  bool expand_next_argument();
  void expand_folder(const std::string& folder);
  void wait_for_lines();
  void take_lines();
  void finish_lines();

  std::deque<std::string> arguments_;
  InputOptions options_;
  std::deque<Input> ready_;
  bool reading_list_ = false;
  std::string unfinished_;  // a line of the list whose end has not come yet
};

/// Whether a file of this name is taken for a picture when its folder is read.
bool has_picture_extension(const std::filesystem::path& path);

/// "img2" before "img10": runs of digits compare by their value, the rest byte by byte.
bool natural_less(std::string_view a, std::string_view b);

}  // namespace vit::io
