#include "io/labelled_pictures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <utility>

#include "io/ascii.hpp"
#include "io/csv.hpp"
#include "io/folder_listing.hpp"
#include "vit/error.hpp"

namespace vit::io {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 6> kPathColumns{"path",  "file",  "filename",
                                                       "image", "input", "picture"};
constexpr std::array<std::string_view, 5> kClassColumns{"label", "class", "truth", "target", "category"};

LabelledPictures of_files(std::vector<std::string> classes, std::vector<std::int32_t> class_of,
                          std::vector<std::string> files) {
  const auto shared = std::make_shared<const std::vector<std::string>>(std::move(files));
  return {std::move(classes), std::move(class_of), [shared](std::size_t i) { return Input{(*shared)[i]}; }};
}

/// The names of the sub-folders, in natural order.
std::vector<std::string> class_folders(const std::string& folder) {
  std::vector<std::string> names;
  std::int64_t strays = 0;
  std::error_code error;
  fs::directory_iterator entries(folder, error);
  for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
    const std::string name = entries->path().filename().native();
    if (name.starts_with('.')) continue;
    std::error_code ignored;
    if (entries->is_directory(ignored)) {
      names.push_back(name);
    } else if (has_picture_extension(name)) {
      ++strays;
    }
  }
  if (error) {
    throw Error(ErrorCode::image_unreadable,
                fmt::format("{}: the folder cannot be read: {}", folder, error.message()));
  }
  if (names.empty()) {
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("{}: expected a folder with a sub-folder for each class, found no sub-folder", folder));
  }
  if (strays > 0) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{}: expected every picture in the sub-folder of its class, found {} beside the "
                            "sub-folders",
                            folder, strays));
  }
  std::sort(names.begin(), names.end(), natural_less);
  return names;
}

/// Which columns hold what.
struct Columns {
  std::size_t path = 0;
  std::size_t label = 1;
  std::size_t count = 2;
};

/// Of a line that names them; nothing if it does not.
std::optional<Columns> columns_of(const CsvRow& header) {
  const auto find = [&](const auto& names) -> std::optional<std::size_t> {
    for (const std::string_view name : names) {
      for (std::size_t i = 0; i < header.fields.size(); ++i)
        if (to_lower(header.fields[i]) == name) return i;
    }
    return std::nullopt;
  };
  const auto path = find(kPathColumns);
  const auto label = find(kClassColumns);
  if (!path || !label) return std::nullopt;
  return Columns{*path, *label, header.fields.size()};
}

void check_row(const CsvRow& row, const Columns& columns, const std::string& file) {
  if (row.fields.size() != columns.count) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{}: line {}: expected {} fields{}, found {}", file, row.line, columns.count,
                            columns.count == 2 ? " (path, label)" : "", row.fields.size()));
  }
  if (row.fields[columns.path].empty() || row.fields[columns.label].empty()) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{}: line {}: expected a path and a label, found none", file, row.line));
  }
}

}  // namespace

LabelledPictures read_labelled_folder(const std::string& folder) {
  std::vector<std::string> classes = class_folders(folder);
  std::vector<std::int32_t> class_of;
  std::vector<std::string> files;
  for (std::size_t i = 0; i < classes.size(); ++i) {
    std::vector<std::string> found = list_pictures((fs::path(folder) / classes[i]).native(), true);
    class_of.insert(class_of.end(), found.size(), static_cast<std::int32_t>(i));
    std::move(found.begin(), found.end(), std::back_inserter(files));
  }
  return of_files(std::move(classes), std::move(class_of), std::move(files));
}

LabelledPictures read_labelled_list(const std::string& file) {
  const std::vector<CsvRow> rows = read_csv(file);
  const auto header = rows.empty() ? std::nullopt : columns_of(rows.front());
  const Columns columns = header.value_or(Columns{});
  const fs::path base = fs::path(file).parent_path();
  std::unordered_map<std::string, std::int32_t> numbers;
  std::vector<std::string> classes;
  std::vector<std::int32_t> class_of;
  std::vector<std::string> files;
  for (std::size_t i = header ? 1 : 0; i < rows.size(); ++i) {
    check_row(rows[i], columns, file);
    const std::string& label = rows[i].fields[columns.label];
    const auto [entry, is_new] = numbers.try_emplace(label, static_cast<std::int32_t>(classes.size()));
    if (is_new) classes.push_back(label);
    class_of.push_back(entry->second);
    files.push_back((base / rows[i].fields[columns.path]).native());
  }
  if (files.empty()) throw Error(ErrorCode::no_input, fmt::format("{}: no pictures in the list", file));
  return of_files(std::move(classes), std::move(class_of), std::move(files));
}

LabelledPictures read_labelled_pictures(const std::string& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) return read_labelled_folder(path);
  if (fs::exists(path, ignored)) return read_labelled_list(path);
  throw Error(
      ErrorCode::invalid_argument,
      fmt::format("{}: expected a folder with a sub-folder for each class, or a CSV file of paths and "
                  "labels; there is nothing of this name",
                  path));
}

std::optional<Input> LabelledSequence::next() {
  if (next_ == pictures_.size()) return std::nullopt;
  return pictures_.open(next_++);
}

std::size_t LabelledSequence::look_ahead(std::size_t most) {
  return std::min(most, pictures_.size() - next_);
}

std::optional<std::int64_t> LabelledSequence::total() const {
  return static_cast<std::int64_t>(pictures_.size());
}

}  // namespace vit::io
