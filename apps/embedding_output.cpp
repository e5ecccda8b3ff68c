#include "apps/embedding_output.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>
#include <vector>

#include "apps/output.hpp"
#include "apps/rows.hpp"
#include "io/npy_writer.hpp"
#include "io/safetensors_writer.hpp"

namespace vit::apps {
namespace {

std::string json_numbers(std::span<const float> values) {
  return fmt::format("[{}]", fmt::join(values, ","));  // shortest forms that read back as the same floats
}

class JsonEmbeddings : public EmbeddingOutput {
 public:
  explicit JsonEmbeddings(const std::string& path) : output_(path) {}

  void add(const io::Embedding& embedding) override {
    const Tensor& values = embedding.values;
    std::string numbers;
    if (values.shape().size() == 1) {
      numbers = json_numbers(values.elements());
    } else {
      const auto width = static_cast<std::size_t>(values.shape()[1]);
      for (std::size_t at = 0; at < values.elements().size(); at += width)
        numbers += (at == 0 ? "[" : ",") + json_numbers(values.elements().subspan(at, width));
      numbers += ']';
    }
    output_.write(
        fmt::format("{},\"embedding\":{}}}\n", json_row_begin(embedding.input, embedding.frame), numbers));
  }
  void add_error(const io::Embedding& failed, const Error& error) override {
    output_.write(json_error_row(failed.input, failed.frame, error) + '\n');
  }
  void flush() override { output_.flush(); }
  void finish() override { output_.finish(); }

 private:
  Output output_;
};

/// A file of one array that grows.
class ArrayFile {
 public:
  virtual ~ArrayFile() = default;
  virtual void write(std::span<const float> row) = 0;
  virtual void finish() = 0;
};

class NpyFile : public ArrayFile {
 public:
  NpyFile(const std::string& path, const Shape& row_shape) : writer_(path, row_shape) {}
  void write(std::span<const float> row) override { writer_.write(row); }
  void finish() override { writer_.finish(); }

 private:
  io::NpyWriter writer_;
};

class SafetensorsArray : public ArrayFile {
 public:
  SafetensorsArray(const std::string& path, const Shape& row_shape, const EmbeddingOrigin& origin)
      : writer_(path, {{kName, growing(row_shape)}}, metadata(path, origin)) {}
  void write(std::span<const float> row) override { writer_.write(kName, row); }
  void finish() override { writer_.finish(); }

 private:
  static constexpr const char* kName = "embeddings";

  static Shape growing(const Shape& row_shape) {
    Shape shape{io::SafetensorsWriter::kGrowing};
    shape.insert(shape.end(), row_shape.begin(), row_shape.end());
    return shape;
  }
  static io::SafetensorsMetadata metadata(const std::string& path, const EmbeddingOrigin& origin) {
    return {{"model", origin.model},
            {"pool", std::string(io::to_string(origin.options.pool))},
            {"normalize", origin.options.normalize ? "true" : "false"},
            {"rows", names_path(path).filename().string()}};
  }

  io::SafetensorsWriter writer_;
};

class ArrayEmbeddings : public EmbeddingOutput {
 public:
  ArrayEmbeddings(std::string_view format, std::string path, EmbeddingOrigin origin, Shape row_shape)
      : npy_(format == "npy"),
        path_(std::move(path)),
        origin_(std::move(origin)),
        row_shape_(std::move(row_shape)),
        names_(path_, origin_) {
    open();  // a path that cannot be written shows before the work begins
  }

  void add(const io::Embedding& embedding) override {
    const Shape& shape = embedding.values.shape();
    if (shape != row_shape_) {
      if (rows_ > 0) {
        throw Error(ErrorCode::image_unsupported,
                    fmt::format("{}: gives {}, but the pictures before it {}: one array holds one shape; "
                                "-o FILE.jsonl takes any",
                                embedding.input, to_string(shape), to_string(row_shape_)));
      }
      row_shape_ = shape;
      open();
    }
    file_->write(embedding.values.elements());
    names_.add(embedding.input, embedding.frame);
    ++rows_;
  }
  void finish() override {
    names_.finish();
    file_->finish();
  }

 private:
  void open() {
    file_.reset();
    if (npy_) {
      file_ = std::make_unique<NpyFile>(path_, row_shape_);
    } else {
      file_ = std::make_unique<SafetensorsArray>(path_, row_shape_, origin_);
    }
  }

  bool npy_;
  std::string path_;
  EmbeddingOrigin origin_;
  Shape row_shape_;
  EmbeddingNamesWriter names_;
  std::unique_ptr<ArrayFile> file_;
  std::int64_t rows_ = 0;
};

}  // namespace

std::unique_ptr<EmbeddingOutput> make_json_embeddings(const std::string& path) {
  return std::make_unique<JsonEmbeddings>(path);
}

std::unique_ptr<EmbeddingOutput> make_array_embeddings(std::string_view format, const std::string& path,
                                                       const EmbeddingOrigin& origin,
                                                       const Shape& row_shape) {
  return std::make_unique<ArrayEmbeddings>(format, path, origin, row_shape);
}

}  // namespace vit::apps
