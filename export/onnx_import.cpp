#include "export/onnx_import.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <vector>

#include "vit/error.hpp"

namespace vit::exporter {
namespace {

using WeightsByName = std::map<std::string, WeightView>;

/// What the views refer to.
struct Storage {
  std::shared_ptr<const OnnxFile> file;
  std::shared_ptr<const void> elsewhere;
  std::vector<Tensor> tensors;
};

/// Layers that the graph computes in parts: what their names contain, and what those of the parts do.
const std::vector<std::pair<std::string_view, std::vector<std::string_view>>> kSplit{
    {".attn.qkv.", {".attn.q.", ".attn.k.", ".attn.v."}},
    {"attn_pool.kv.", {"attn_pool.k.", "attn_pool.v."}},
    {".mlp.fc1.", {".mlp.fc1_g.", ".mlp.fc1_x."}},
};

class WeightReader {
 public:
  WeightReader(std::shared_ptr<const OnnxFile> file, std::shared_ptr<Storage> storage,
               WeightsByName elsewhere)
      : file_(std::move(file)), storage_(std::move(storage)), elsewhere_(std::move(elsewhere)) {
    for (const Initializer& initializer : file_->graph.initializers)
      by_name_[initializer.name] = &initializer;
    find_transposed();
  }

  void read(const TensorSpec& spec, WeightView& view) {
    view.shape = spec.shape;
    if (spec.name == "cls_token" || spec.name == "dist_token" || spec.name == "reg_token")
      return zeros(spec, view);  // their rows of pos_embed hold them
    for (const auto& [whole, parts] : kSplit) {
      const std::size_t at = spec.name.find(whole);
      if (at == std::string::npos || by_name_.contains(spec.name)) continue;
      Shape shape = spec.shape;
      shape.front() /= static_cast<std::int64_t>(parts.size());
      for (std::size_t i = 0; i < parts.size(); ++i) {
        read_part({std::string(spec.name).replace(at, whole.size(), parts[i]), shape, spec.name,
                   static_cast<std::int64_t>(i) * shape.front()},
                  view);
      }
      return;
    }
    read_part({spec.name, spec.shape, spec.name, 0}, view);
  }

  /// Throws if anything was not as it should be.
  void finish() const {
    if (!missing_.empty() && problems_.empty() && !file_->graph.outputs.empty() && !gives_all()) {
      throw Error(
          ErrorCode::weights_invalid,
          fmt::format(
              "{}: it was exported for {} alone, without the weights that only other outputs need ({}{}): "
              "Vitrine cannot run it; export it with features or logits as well",
              file_->path.string(), outputs(), missing_.front(), missing_.size() > 1 ? ", …" : ""));
    }
    if (problems_.empty() && missing_.empty()) return;
    std::vector<std::string> problems = missing_;
    problems.insert(problems.end(), problems_.begin(), problems_.end());
    throw Error(ErrorCode::weights_invalid,
                fmt::format("{}: the weights do not fit the network that its metadata describes:\n  {}",
                            file_->path.string(), fmt::join(problems, "\n  ")));
  }

 private:
  /// A piece of a tensor as the file calls it, and where it belongs.
  struct Piece {
    std::string name;
    Shape shape;
    std::string tensor;
    std::int64_t first_row;
  };

  /// Whether the graph's outputs need every weight of the network that it holds.
  bool gives_all() const {
    return std::any_of(file_->graph.outputs.begin(), file_->graph.outputs.end(), [](const ValueInfo& output) {
      return output.name == "logits" || output.name == "probabilities" || output.name == "features";
    });
  }

  std::string outputs() const {
    std::string text;
    for (const ValueInfo& output : file_->graph.outputs) {
      const std::string group = output.name.substr(0, output.name.find('.'));
      if (text.ends_with(group)) continue;
      text += (text.empty() ? "" : ", ") + group;
    }
    return text;
  }

  /// A MatMul's constant is the transpose of what the table has, directly or behind the node that widens it.
  void find_transposed() {
    std::map<std::string, std::string> source;  // of a widened value
    for (const Node& node : file_->graph.nodes) {
      const bool widens = node.op_type == "Cast" || node.op_type == "DequantizeLinear";
      if (widens && !node.inputs.empty() && !node.outputs.empty()) source[node.outputs[0]] = node.inputs[0];
      if (node.op_type != "MatMul" || node.inputs.size() != 2) continue;
      const auto widened = source.find(node.inputs[1]);
      transposed_[widened == source.end() ? node.inputs[1] : widened->second] = true;
    }
  }

  void zeros(const TensorSpec& spec, WeightView& view) {
    const auto table =
        by_name_.find("pos_embed");  // what the metadata says of tokens takes no memory by itself
    if (table == by_name_.end() || table->second->size() < view.size()) {
      problems_.push_back(
          fmt::format("pos_embed has no rows for {} of shape {}", spec.name, to_string(spec.shape)));
      return;
    }
    Tensor& tensor = storage_->tensors.emplace_back(view.shape);
    std::memset(tensor.data(), 0, static_cast<std::size_t>(tensor.size()) * sizeof(float));
    view.parts.push_back({reinterpret_cast<const std::byte*>(tensor.data()), DType::f32, tensor.size()});
  }

  void read_part(const Piece& piece, WeightView& view) {
    const auto& [name, shape, tensor, first_row] = piece;
    const auto found = by_name_.find(name);
    if (found == by_name_.end()) {
      if (const auto other = elsewhere_.find(tensor); other != elsewhere_.end()) {
        const WeightView rows = other->second.rows(first_row, shape.front());
        view.parts.insert(view.parts.end(), rows.parts.begin(), rows.parts.end());
        return;
      }
      missing_.push_back(fmt::format("{} is missing, expected {}", name, to_string(shape)));
      return;
    }
    const Initializer& stored = *found->second;
    const bool transposed = transposed_.contains(name) && shape.size() == 2;
    const Shape expected = transposed ? Shape{shape[1], shape[0]} : shape;
    if (stored.shape != expected) {
      problems_.push_back(
          fmt::format("{} has shape {}, expected {}", name, to_string(stored.shape), to_string(expected)));
      return;
    }
    const std::int64_t rows = transposed ? shape[0] : 0;
    switch (stored.type) {
      case ElementType::f32:
        view.parts.push_back({stored.data, DType::f32, stored.size(), rows});
        return;
      case ElementType::f16:
        view.parts.push_back({stored.data, DType::f16, stored.size(), rows});
        return;
      case ElementType::i8:
        return dequantize(stored, rows, view);
      case ElementType::u8:
      case ElementType::i64:
        break;
    }
    problems_.push_back(fmt::format("{} is of type {}", name, exporter::to_string(stored.type)));
  }

  /// One scale for each of the table's rows, which are the columns of a transposed weight.
  void dequantize(const Initializer& stored, std::int64_t transposed_rows, WeightView& view) {
    const bool transposed = transposed_rows != 0;
    const std::int64_t channels = transposed ? transposed_rows : stored.shape.front();
    const auto scale = by_name_.find(stored.name + "_scale");
    if (scale == by_name_.end() || scale->second->type != ElementType::f32 ||
        scale->second->shape != Shape{channels}) {
      problems_.push_back(fmt::format("{}_scale is missing, expected [{}]", stored.name, channels));
      return;
    }
    std::vector<float> scales(static_cast<std::size_t>(channels));
    scale->second->fill(reinterpret_cast<std::byte*>(scales.data()));
    // As the table has it: rows of a transposed one could not be taken apart, and a gated MLP's are.
    const std::int64_t inputs = stored.size() / channels;
    Tensor& tensor = storage_->tensors.emplace_back(Shape{channels, inputs});
    for (std::int64_t c = 0; c < channels; ++c) {
      for (std::int64_t i = 0; i < inputs; ++i) {
        const std::int64_t at = transposed ? i * channels + c : c * inputs + i;
        tensor.data()[c * inputs + i] = static_cast<float>(static_cast<std::int8_t>(stored.data[at])) *
                                        scales[static_cast<std::size_t>(c)];
      }
    }
    view.parts.push_back({reinterpret_cast<const std::byte*>(tensor.data()), DType::f32, tensor.size()});
  }

  std::shared_ptr<const OnnxFile> file_;
  std::shared_ptr<Storage> storage_;
  WeightsByName elsewhere_;
  std::map<std::string, const Initializer*> by_name_;
  std::map<std::string, bool> transposed_;
  std::vector<std::string> missing_;
  std::vector<std::string> problems_;
};

}  // namespace

void require_ours(const OnnxFile& file) {
  const std::string* format = file.graph.find_metadata(kFormatKey);
  if (format == nullptr) {
    throw Error(
        ErrorCode::model_unsupported,
        fmt::format(
            "{}: {}, which holds a graph but not what network it is; Vitrine runs the ONNX files that it "
            "wrote itself. Pass the checkpoint that it was made from (a folder with config.json), or run "
            "it with ONNX Runtime",
            file.path.string(), file.description));
  }
  if (*format != kFormat || !file.unsupported.empty()) {
    throw Error(ErrorCode::model_unsupported,
                fmt::format("{}: {} of another version of Vitrine (format {}, expected {}){}{}",
                            file.path.string(), file.description, *format, kFormat,
                            file.unsupported.empty() ? "" : "; ", file.unsupported));
  }
}

Weights read_weights(std::shared_ptr<const OnnxFile> file, const ModelConfig& config,
                     const Weights& unneeded) {
  const auto storage = std::make_shared<Storage>(Storage{file, unneeded.storage, {}});
  WeightsByName elsewhere;
  Weights views = unneeded;
  for_each_tensor(config, views, [&](const TensorSpec& spec, const WeightView& view) {
    if (!view.empty()) elsewhere[spec.name] = view;
  });
  Weights weights;
  WeightReader reader(std::move(file), storage, std::move(elsewhere));
  for_each_tensor(config, weights,
                  [&](const TensorSpec& spec, WeightView& view) { reader.read(spec, view); });
  reader.finish();
  weights.storage = storage;
  return weights;
}

}  // namespace vit::exporter
