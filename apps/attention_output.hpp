// Where `vitrine attention` puts its files, so that none of them replaces another or what is read.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "apps/attention_files.hpp"
#include "apps/common.hpp"

namespace vit::apps {

/// -o and --force.
struct OutputArguments {
  std::string path;
  bool force = false;
};

/// A folder, which is made, or one file for one picture, if the path ends like one.
class AttentionOutput {
 public:
  /// Throws Error: invalid_argument (one file for several, or of another kind; a folder whose pictures are
  /// read), output_unwritable.
  AttentionOutput(const OutputArguments& arguments, const InputArguments& inputs,
                  const std::vector<AttentionFile>& files);

  /// Files that are never replaced.
  void protect(std::vector<std::filesystem::path> files) { protected_ = std::move(files); }

  /// Of one picture: "NAME.suffix" for each file, or the one file.
  std::vector<std::filesystem::path> paths(const std::string& name,
                                           const std::vector<AttentionFile>& files) const;

  /// Throws Error: invalid_argument if one of the paths is `input` or protected, output_unwritable if there
  /// is such a file and no --force.
  void check_free(const std::vector<std::filesystem::path>& paths, const std::string& input) const;

 private:
  std::filesystem::path path_;
  bool force_;
  bool is_file_;
  std::vector<std::filesystem::path> protected_;
};

}  // namespace vit::apps
