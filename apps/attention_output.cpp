#include "apps/attention_output.hpp"

#include <fmt/format.h>

#include <system_error>

#include "apps/load_model.hpp"
#include "apps/output_folder.hpp"
#include "io/folder_listing.hpp"

namespace vit::apps {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void misuse(const std::string& what) {
  throw Error(ErrorCode::invalid_argument, what);
}

/// Rather than a folder: by its ending.
bool names_file(const fs::path& path) {
  std::error_code ignored;
  return (path.extension() == ".npy" || io::has_picture_extension(path)) && !fs::is_directory(path, ignored);
}

void check_single(const std::string& path, const std::vector<std::string>& inputs,
                  const std::vector<AttentionFile>& files) {
  std::error_code ignored;
  if (inputs.size() > 1 || inputs.front() == "-" || fs::is_directory(inputs.front(), ignored))
    misuse(fmt::format("-o {}: one file is for one picture; name a folder for several", path));
  if (files.size() > 1) {
    misuse(fmt::format("-o {}: these options make {} files; name a folder for them, or take --sheet", path,
                       files.size()));
  }
  const fs::path ending = fs::path(files.front().suffix).extension();
  if (fs::path(path).extension() != ending)
    misuse(fmt::format("-o {}: what is written is a {} file", path, ending.native()));
}

}  // namespace

AttentionOutput::AttentionOutput(const OutputArguments& arguments, const InputArguments& inputs,
                                 const std::vector<AttentionFile>& files)
    : path_(arguments.path), force_(arguments.force), is_file_(names_file(path_)) {
  if (arguments.path.empty() || arguments.path == "-") misuse("-o: name a folder or a file");
  if (is_file_) {
    check_single(arguments.path, inputs.names, files);
  } else {
    make_output_folder("-o", path_, inputs);
  }
}

std::vector<fs::path> AttentionOutput::paths(const std::string& name,
                                             const std::vector<AttentionFile>& files) const {
  if (is_file_) return {path_};
  std::vector<fs::path> paths;
  for (const AttentionFile& file : files) paths.push_back(path_ / fmt::format("{}.{}", name, file.suffix));
  return paths;
}

void AttentionOutput::check_free(const std::vector<fs::path>& paths, const std::string& input) const {
  std::error_code ignored;
  for (const fs::path& path : paths) {
    refuse_destroying(path, {input});
    refuse_destroying(path, protected_);
    if (!force_ && fs::is_regular_file(path, ignored)) {
      throw Error(ErrorCode::output_unwritable,
                  fmt::format("{}: {} exists already; --force replaces it", input, path.native()));
    }
  }
}

}  // namespace vit::apps
