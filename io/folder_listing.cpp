#include "io/folder_listing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <system_error>

#include "io/ascii.hpp"
#include "vit/error.hpp"

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

bool has_extension(const fs::path& path, std::span<const std::string_view> lower_case) {
  const std::string extension = to_lower(path.extension().native());
  return std::find(lower_case.begin(), lower_case.end(), extension) != lower_case.end();
}

bool has_picture_extension(const fs::path& path) {
  return has_extension(path, kPictureExtensions);
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

std::vector<std::string> list_pictures(const std::string& folder, bool recursive) {
  Listing listing;
  try {
    list_folder(folder, {}, recursive, listing);
  } catch (const fs::filesystem_error& e) {
    throw Error(ErrorCode::image_unreadable,
                fmt::format("{}: the folder cannot be read: {}", e.path1().native(), e.code().message()));
  }
  if (listing.pictures.empty()) throw Error(ErrorCode::no_input, why_empty(folder, listing, recursive));
  std::sort(listing.pictures.begin(), listing.pictures.end(), natural_less);
  for (std::string& picture : listing.pictures) picture = (fs::path(folder) / picture).native();
  return std::move(listing.pictures);
}

}  // namespace vit::io
