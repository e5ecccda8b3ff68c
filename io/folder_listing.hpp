// The pictures of a folder, in the order people expect. Internal to io/, but for natural_less().
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace vit::io {

/// Whether a name ends in one of these (".png"), in letters of any case.
bool has_extension(const std::filesystem::path& path, std::span<const std::string_view> lower_case);

/// Whether a file of this name is taken for a picture when its folder or archive is read.
bool has_picture_extension(const std::filesystem::path& path);

/// "img2" before "img10": runs of digits compare by their value, the rest byte by byte.
bool natural_less(std::string_view a, std::string_view b);

/// The paths of a folder's pictures (by extension) in natural order, hidden entries skipped; those of its
/// sub-folders too if `recursive`, but not behind links to folders, which may form a loop. Throws Error
/// naming the folder: no_input if there are none, image_unreadable.
std::vector<std::string> list_pictures(const std::string& folder, bool recursive);

}  // namespace vit::io
