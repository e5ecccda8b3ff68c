#include "apps/output_folder.hpp"

#include <fmt/format.h>

#include <system_error>

#include "io/ascii.hpp"

namespace vit::apps {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostNameBytes = 160;  // of the 255 that file systems allow; the suffix follows

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

}  // namespace

void make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored)) {
    throw Error(ErrorCode::output_unwritable,
                fmt::format("{}: the folder cannot be made: {}", folder.native(),
                            error ? error.message() : "there is a file of this name"));
  }
}

void make_output_folder(const std::string& option, const fs::path& folder, const InputArguments& inputs) {
  std::error_code error;
  const auto reader = reader_of(fs::weakly_canonical(folder, error), inputs);
  if (reader) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{} {}: its pictures are read as inputs, by way of {}; name another folder",
                            option, folder.native(), *reader));
  }
  make_folder(folder);
}

std::string shortened_name(const std::string& name) {
  return io::utf8_prefix(name, kMostNameBytes);
}

std::string OutputNames::name_for(const std::string& input, const std::optional<io::FramePosition>& frame) {
  std::string stem = shortened_name(std::filesystem::path(input).stem().native());
  if (stem.empty()) stem = "picture";
  if (frame) stem += fmt::format(".frame{}", frame->number);
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
