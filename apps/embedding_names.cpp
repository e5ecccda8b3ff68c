#include "apps/embedding_names.hpp"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>

#include "apps/rows.hpp"

namespace vit::apps {
namespace fs = std::filesystem;
namespace {

using nlohmann::json;

constexpr int kVersion = 1;
constexpr const char* kVersionKey = "vitrine_embeddings";
constexpr std::int64_t kRowsPerMark = 64;

[[noreturn]] void refuse(const fs::path& file, std::string_view what) {
  throw Error(ErrorCode::tensor_invalid, fmt::format("{}: {}", file.string(), what));
}

io::EmbeddingPool parse_pool(const std::string& name) {
  for (const io::EmbeddingPool pool : {io::EmbeddingPool::cls, io::EmbeddingPool::mean,
                                       io::EmbeddingPool::patches, io::EmbeddingPool::features})
    if (io::to_string(pool) == name) return pool;
  throw std::runtime_error("no pooling has this name: " + name);
}

std::string to_line(const EmbeddingOrigin& origin) {
  nlohmann::ordered_json line{{kVersionKey, kVersion},
                              {"model", origin.model},
                              {"arch", origin.architecture},
                              {"image_size", origin.image_size},
                              {"patch_size", origin.patch_size},
                              {"precision", origin.precision},
                              {"pool", io::to_string(origin.options.pool)},
                              {"normalize", origin.options.normalize},
                              {"merge", origin.options.merge},
                              {"test_picture", origin.test_picture}};
  return line.dump(-1, ' ', false, json::error_handler_t::replace) + '\n';
}

EmbeddingOrigin parse_origin(std::string_view line, const fs::path& file) {
  const json object = json::parse(line, nullptr, false);
  if (!object.is_object() || !object.contains(kVersionKey))
    refuse(file, "its first line does not say which model made the embeddings, as vitrine embed writes it");
  if (object.at(kVersionKey) != kVersion) {
    refuse(file, fmt::format("is of version {}, and this Vitrine reads version {}",
                             object.at(kVersionKey).dump(), kVersion));
  }
  try {
    EmbeddingOrigin origin;
    origin.model = object.at("model").get<std::string>();
    origin.architecture = object.at("arch").get<std::string>();
    origin.image_size = object.at("image_size").get<std::string>();
    origin.patch_size = object.at("patch_size").get<std::string>();
    origin.precision = object.at("precision").get<std::string>();
    origin.options = {parse_pool(object.at("pool").get<std::string>()), object.at("normalize").get<bool>(),
                      object.at("merge").get<std::int64_t>()};
    origin.test_picture = object.at("test_picture").get<std::vector<float>>();
    return origin;
  } catch (const std::exception& e) {
    refuse(file, fmt::format("line 1: {}", e.what()));
  }
}

}  // namespace

EmbeddingOrigin embedding_origin(const CommonOptions& common, const fs::path& model_path,
                                 const io::EmbeddingOptions& options,
                                 const std::shared_ptr<const io::PictureModel>& model) {
  std::error_code ignored;
  const bool is_path = fs::exists(model_path, ignored);
  EmbeddingOrigin origin{
      .model = is_path ? fs::absolute(model_path).lexically_normal().string() : model_path.string(),
      .architecture = common.architecture,
      .image_size = common.image_size,
      .patch_size = common.patch_size,
      .precision = std::string(to_string(model->model()->precision())),
      .options = options,
      .test_picture = {}};
  if (options.pool != io::EmbeddingPool::patches)
    origin.test_picture = io::embed_test_picture(model, options, common.threads);
  return origin;
}

fs::path names_path(const fs::path& array) {
  fs::path path = array;
  return path += ".jsonl";
}

EmbeddingNamesWriter::EmbeddingNamesWriter(const fs::path& array, const EmbeddingOrigin& origin)
    : file_(names_path(array)) {
  append(to_line(origin));
}

void EmbeddingNamesWriter::add(std::string_view input, const std::optional<io::FramePosition>& frame) {
  append(json_row_begin(input, frame) + "}\n");
}

void EmbeddingNamesWriter::append(std::string_view line) {
  file_.append(std::as_bytes(std::span(line)));
}

void EmbeddingNamesWriter::finish() {
  file_.commit();
}

EmbeddingNames::EmbeddingNames(const fs::path& array, std::int64_t rows) {
  const fs::path path = names_path(array);
  std::error_code ignored;
  if (!fs::exists(path, ignored)) {
    refuse(array, fmt::format("needs {} beside it, which says what picture each row stands for; vitrine "
                              "embed writes both",
                              path.filename().string()));
  }
  file_ = MappedFile(path, FileErrors::all(ErrorCode::tensor_invalid));
  const std::string_view text = as_text(file_.bytes());
  std::size_t begin = line(0).size() + 1;
  origin_ = parse_origin(line(0), path);
  std::int64_t lines = 0;
  for (; begin < text.size(); ++lines) {
    if (lines % kRowsPerMark == 0) marks_.push_back(begin);
    begin += line(begin).size() + 1;
  }
  file_.release_pages();
  if (lines != rows) {
    refuse(path, fmt::format("names {} pictures, but {} has {} rows: they are not from the same run", lines,
                             array.filename().string(), rows));
  }
}

/// Without its end.
std::string_view EmbeddingNames::line(std::size_t begin) const {
  const std::string_view rest = as_text(file_.bytes()).substr(begin);
  return rest.substr(0, rest.find('\n'));
}

EmbeddedPicture EmbeddingNames::picture(std::int64_t row) const {
  std::size_t begin = marks_.at(static_cast<std::size_t>(row / kRowsPerMark));
  for (std::int64_t skipped = row % kRowsPerMark; skipped > 0; --skipped) begin += line(begin).size() + 1;
  try {
    const json object = json::parse(line(begin));
    EmbeddedPicture picture{object.at("input").get<std::string>(), {}};
    if (object.contains("frame"))
      picture.frame = {object.at("frame").get<std::int64_t>(), object.at("seconds").get<double>()};
    return picture;
  } catch (const json::exception&) {
    refuse(file_.path(), fmt::format("line {} is no row of vitrine embed", row + 2));
  }
}

}  // namespace vit::apps
