#include "apps/attention_output.hpp"

#include <fmt/format.h>

#include <optional>
#include <system_error>

#include "apps/load_model.hpp"
#include "io/folder_listing.hpp"

namespace vit::apps {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostNameBytes = 160;  // of the 255 that file systems allow; the suffix follows

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

/// Whether pictures that appear in `folder` are found when the inputs are read.
std::optional<std::string> reader_of(fs::path folder, const InputArguments& inputs) {
  std::error_code ignored;
  for (;;) {
    for (const std::string& input : inputs.names) {
      if (fs::is_directory(input, ignored) && fs::equivalent(input, folder, ignored)) return input;
    }
    if (!inputs.recursive || folder == folder.parent_path()) return std::nullopt;
    folder = folder.parent_path();
  }
}

/// File names hold anything; a cut must not leave half a UTF-8 character.
std::string shortened(std::string name) {
  if (name.size() <= kMostNameBytes) return name;
  std::size_t end = kMostNameBytes;
  while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xC0U) == 0x80U) --end;
  return name.substr(0, end);
}

}  // namespace

AttentionOutput::AttentionOutput(const OutputArguments& arguments, const InputArguments& inputs,
                                 const std::vector<AttentionFile>& files)
    : path_(arguments.path), force_(arguments.force), is_file_(names_file(path_)) {
  if (arguments.path.empty() || arguments.path == "-") misuse("-o: name a folder or a file");
  if (is_file_) {
    check_single(arguments.path, inputs.names, files);
  } else {
    make_folder(inputs);
  }
}

void AttentionOutput::make_folder(const InputArguments& inputs) const {
  std::error_code error;
  const auto reader = reader_of(fs::weakly_canonical(path_, error), inputs);
  if (reader) {
    misuse(fmt::format("-o {}: its pictures are read as inputs, by way of {}; name another folder",
                       path_.native(), *reader));
  }
  fs::create_directories(path_, error);
  std::error_code ignored;
  if (!fs::is_directory(path_, ignored)) {
    throw Error(ErrorCode::output_unwritable,
                fmt::format("{}: the folder cannot be made: {}", path_.native(),
                            error ? error.message() : "there is a file of this name"));
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

std::string OutputNames::name_for(const io::Input& input) {
  std::string stem = shortened(std::filesystem::path(input.name).stem().native());
  if (stem.empty()) stem = "picture";
  if (input.frame) stem += fmt::format(".frame{}", input.frame->number);
  int& next = next_[stem];
  if (next == 0) {
    next = 2;
    return stem;
  }
  std::string name;
  do {
    name = fmt::format("{}-{}", stem, next++);
  } while (!next_.try_emplace(name, 2).second);
  return name;
}

}  // namespace vit::apps
