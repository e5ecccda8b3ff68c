#include "export/onnx_target.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <system_error>

#include "vit/error.hpp"

namespace vit::exporter {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const fs::path& path, const std::string& why) {
  throw Error(ErrorCode::output_unwritable, fmt::format("{}: cannot be written: {}", path.string(), why));
}

/// The data files of a model that is there already; none if it cannot be read.
std::vector<fs::path> data_files_of(const fs::path& model) {
  try {
    return read_onnx(model).data_files;
  } catch (const Error&) {
    return {};
  }
}

/// Whether a data file holds exactly what would be written.
bool holds(const fs::path& path, const Graph& graph) {
  const MappedFile file(path, FileErrors::all(ErrorCode::output_unwritable));
  const ExternalData layout = external_layout(graph, path.filename().string());
  std::vector<std::byte> expected;
  std::uint64_t end = 0;
  for (const Initializer& initializer : graph.initializers) {
    const auto region = layout.regions.find(initializer.name);
    if (region == layout.regions.end()) continue;
    const auto [offset, length] = region->second;
    if (offset + length > file.bytes().size()) return false;
    expected.resize(static_cast<std::size_t>(length));
    initializer.fill(expected.data());
    const auto found = file.bytes().subspan(static_cast<std::size_t>(offset), expected.size());
    if (!std::equal(found.begin(), found.end(), expected.begin())) return false;
    file.release_pages(found);
    end = offset + length;
  }
  return end == file.bytes().size();
}

}  // namespace

OnnxTarget::OnnxTarget(fs::path target, bool overwrite) : target_(std::move(target)), overwrite_(overwrite) {
  std::error_code ignored;
  if (fs::is_symlink(target_, ignored)) {
    refuse(target_, fmt::format("it is a link to {}; name that file itself, or another",
                                fs::read_symlink(target_, ignored).string()));
  }
  if (fs::is_regular_file(target_, ignored)) {
    if (!overwrite_) refuse(target_, "it exists already; --force replaces it");
    old_data_ = data_files_of(target_);
  } else if (fs::exists(target_, ignored)) {
    refuse(target_, fs::is_directory(target_, ignored)
                        ? "it is a folder; name a file in it, such as model.onnx"
                        : "it is not a regular file");
  }
  model_.emplace(target_);
}

void OnnxTarget::require_space(std::int64_t bytes) const {
  std::error_code error;
  const fs::space_info space = fs::space(target_.has_parent_path() ? target_.parent_path() : ".", error);
  if (error || space.available >= static_cast<std::uintmax_t>(bytes)) return;
  refuse(target_, fmt::format("it needs {:.1f} MB, and {:.1f} MB are free", static_cast<double>(bytes) / 1e6,
                              static_cast<double>(space.available) / 1e6));
}

/// "model.onnx.data", unless a file of this name must stay until the new model is in place.
fs::path OnnxTarget::choose_data_path(const Graph& graph) const {
  std::error_code ignored;
  const auto named = [&](const std::string& ending) {
    return target_.parent_path() / (target_.filename().string() + ending);
  };
  fs::path path = named(".data");
  if (!fs::exists(fs::symlink_status(path, ignored))) return path;
  const bool regular = fs::is_regular_file(fs::symlink_status(path, ignored));  // a link's target is not ours
  if (!overwrite_)
    refuse(path, "it exists already, perhaps as the weights of another model; --force replaces it");
  const bool in_use = std::any_of(old_data_.begin(), old_data_.end(),
                                  [&](const fs::path& old) { return fs::equivalent(old, path, ignored); });
  if (!in_use && !regular) refuse(path, "it is a link, or not a regular file");
  if (!in_use || (regular && holds(path, graph))) return path;
  for (int number = 1;; ++number) {
    path = named(fmt::format(".{}.data", number));
    if (!fs::exists(fs::symlink_status(path, ignored))) return path;
  }
}

void OnnxTarget::write(const Graph& graph, bool external) {
  if (!external) return write_onnx(graph, *model_);
  data_path_ = choose_data_path(graph);
  data_.emplace(*data_path_);
  write_onnx(graph, write_external_data(graph, *data_, data_path_->filename().string()), *model_);
}

OnnxFile OnnxTarget::read_back() const {
  if (!data_) return read_onnx(model_->temporary());
  return read_onnx(model_->temporary(), data_->temporary());
}

void OnnxTarget::commit() {
  std::error_code ignored;
  const bool new_data = data_ && !fs::exists(*data_path_, ignored);
  if (data_) data_->commit();
  try {
    model_->commit();
  } catch (...) {
    if (new_data) fs::remove(*data_path_, ignored);
    throw;
  }
  for (const fs::path& old : old_data_) {
    const std::string name = old.filename().string();
    const bool named_after_us =
        name.starts_with(target_.filename().string() + ".") && name.ends_with(".data");
    if (!named_after_us) continue;  // perhaps other models' as well
    if (!data_path_ || !fs::equivalent(old, *data_path_, ignored)) fs::remove(old, ignored);
  }
}

}  // namespace vit::exporter
