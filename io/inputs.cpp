#include "io/inputs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <istream>
#include <string_view>
#include <system_error>

namespace vit::io {
namespace fs = std::filesystem;
namespace {

constexpr std::array<std::string_view, 14> kPictureExtensions{".bmp", ".gif", ".jfif", ".jpe", ".jpeg",
                                                              ".jpg", ".pbm", ".pgm",  ".png", ".pnm",
                                                              ".ppm", ".tif", ".tiff", ".webp"};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_hidden(const fs::path& path) {
  return path.filename().native().starts_with('.');
}

struct Listing {
  std::vector<std::string> pictures;  // relative to the folder
  std::size_t folders = 0;
  std::size_t other_files = 0;
};

/// Adds what lies in folder/below to the listing. Links to folders are not followed: they may form a loop.
void list_folder(const fs::path& folder, const fs::path& below, bool recursive, Listing& listing) {
  for (const fs::directory_entry& entry : fs::directory_iterator(folder / below)) {
    if (is_hidden(entry.path())) continue;
    const fs::path relative = below / entry.path().filename();
    std::error_code ignored;  // what cannot be looked at is not a folder
    if (entry.is_directory(ignored)) {
      ++listing.folders;
      if (recursive && !entry.is_symlink(ignored)) list_folder(folder, relative, recursive, listing);
    } else if (has_picture_extension(relative)) {  // also a dangling link: reading it gives the error
      listing.pictures.push_back(relative.native());
    } else {
      ++listing.other_files;
    }
  }
}

std::string why_empty(const std::string& folder, const Listing& listing, bool recursive) {
  std::string found =
      listing.folders + listing.other_files == 0
          ? "it is empty"
          : fmt::format("found {} other files and {} folders", listing.other_files, listing.folders);
  if (listing.folders > 0 && !recursive) found += "; -r looks into folders";
  return fmt::format("{}: no pictures in this folder ({}); expected files named {}", folder, found,
                     fmt::join(kPictureExtensions, " "));
}

}  // namespace

bool has_picture_extension(const fs::path& path) {
  std::string extension = path.extension().native();
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return std::find(kPictureExtensions.begin(), kPictureExtensions.end(), extension) !=
         kPictureExtensions.end();
}

bool natural_less(std::string_view a, std::string_view b) {
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < a.size() && j < b.size()) {
    if (!is_digit(a[i]) || !is_digit(b[j])) {
      if (a[i] != b[j]) return static_cast<unsigned char>(a[i]) < static_cast<unsigned char>(b[j]);
      ++i;
      ++j;
      continue;
    }
    const auto run = [](std::string_view text, std::size_t& at) {
      while (at < text.size() && text[at] == '0') ++at;
      const std::size_t begin = at;
      while (at < text.size() && is_digit(text[at])) ++at;
      return text.substr(begin, at - begin);
    };
    const std::string_view x = run(a, i);
    const std::string_view y = run(b, j);
    if (x.size() != y.size()) return x.size() < y.size();
    if (x != y) return x < y;
  }
  const bool a_ended = i == a.size();
  const bool b_ended = j == b.size();
  return a_ended != b_ended ? a_ended : a < b;  // "01" and "1": equal so far, any fixed order will do
}

InputSource::InputSource(std::vector<std::string> arguments, const InputOptions& options)
    : arguments_(arguments.begin(), arguments.end()), options_(options) {}

std::optional<Input> InputSource::next() {
  while (ready_.empty()) {
    if (reading_list_) {
      wait_for_lines();
    } else if (!expand_next_argument()) {
      return std::nullopt;
    }
  }
  Input input = std::move(ready_.front());
  ready_.pop_front();
  return input;
}

std::size_t InputSource::look_ahead(std::size_t most) {
  while (ready_.size() < most && !reading_list_ && expand_next_argument()) {
  }
  if (reading_list_ && ready_.size() < most) take_lines();
  return std::min(ready_.size(), most);
}

bool InputSource::expand_next_argument() {
  if (arguments_.empty()) return false;
  const std::string argument = std::move(arguments_.front());
  arguments_.pop_front();
  std::error_code ignored;  // what cannot be looked at is passed on: reading it gives the error
  if (argument == "-" && options_.list != nullptr) {
    reading_list_ = true;
  } else if (fs::is_directory(argument, ignored)) {
    expand_folder(argument);
  } else {
    ready_.push_back({argument, std::nullopt});
  }
  return true;
}

void InputSource::expand_folder(const std::string& folder) {
  Listing listing;
  try {
    list_folder(folder, {}, options_.recursive, listing);
  } catch (const fs::filesystem_error& e) {
    ready_.push_back(
        {folder, Error(ErrorCode::image_unreadable, fmt::format("{}: the folder cannot be read: {}",
                                                                e.path1().native(), e.code().message()))});
    return;
  }
  if (listing.pictures.empty()) {
    ready_.push_back({folder, Error(ErrorCode::no_input, why_empty(folder, listing, options_.recursive))});
    return;
  }
  std::sort(listing.pictures.begin(), listing.pictures.end(), natural_less);
  for (const std::string& picture : listing.pictures) {
    ready_.push_back({(fs::path(folder) / picture).native(), std::nullopt});
  }
}

/// Until there is at least one, or the list has ended.
void InputSource::wait_for_lines() {
  std::string rest;
  if (std::getline(*options_.list, rest)) {
    unfinished_ += rest;
    if (!options_.list->eof()) unfinished_ += '\n';
  }
  if (!options_.list->good()) {
    reading_list_ = false;
    unfinished_ += '\n';  // which the last line may lack
  }
  finish_lines();
}

/// What is there, as much as a buffer holds.
void InputSource::take_lines() {
  std::array<char, 1 << 16> buffer;
  const std::streamsize count = options_.list->readsome(buffer.data(), buffer.size());
  unfinished_.append(buffer.data(), static_cast<std::size_t>(count));
  finish_lines();
}

void InputSource::finish_lines() {
  std::size_t begin = 0;
  for (std::size_t end = 0; (end = unfinished_.find('\n', begin)) != std::string::npos; begin = end + 1) {
    std::string line = unfinished_.substr(begin, end - begin);
    if (line.ends_with('\r')) line.pop_back();
    if (!line.empty()) ready_.push_back({std::move(line), std::nullopt});
  }
  unfinished_.erase(0, begin);
}

}  // namespace vit::io
