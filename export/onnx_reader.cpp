// .onnx -> Graph. The messages that contain weights are walked field by field, so that a weight is a span of
// the mapped file rather than a string; everything else Protobuf parses.
#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/wire_format_lite.h>
#include <onnx/onnx_pb.h>

#include <charconv>
#include <cstring>
#include <limits>
#include <map>
#include <set>
#include <span>

#include "export/onnx_file.hpp"
#include "export/onnx_types.hpp"
#include "vit/error.hpp"

namespace vit::exporter {
namespace {

namespace pb = google::protobuf;
namespace fs = std::filesystem;
using pb::internal::WireFormatLite;
using pb::io::CodedInputStream;
using Bytes = std::span<const std::byte>;

constexpr std::size_t kMaxGraphBytes = std::size_t{64} << 20U;  // without weights; a ViT-g has 0.5 MB
constexpr std::size_t kLarge = std::size_t{1} << 20U;
constexpr FileErrors kModelErrors{ErrorCode::model_not_found, ErrorCode::weights_invalid,
                                  ErrorCode::weights_invalid};

[[noreturn]] void fail(const fs::path& path, ErrorCode code, std::string_view what) {
  throw Error(code, fmt::format("{}: {}", path.string(), what));
}

// ------------------------------------------------------------------------------------------ walking

struct StoredTensor {
  onnx::TensorProto header;
  Bytes raw;
  bool has_raw = false;
};

/// Walks one message. `take` handles a field that it knows and says so; all others are copied to `rest`.
class Walker {
 public:
  explicit Walker(Bytes bytes)
      : bytes_(bytes),
        in_(reinterpret_cast<const std::uint8_t*>(bytes.data()), static_cast<int>(bytes.size())) {}

  template <class Take>
  bool walk(std::string& rest, Take&& take) {
    pb::io::StringOutputStream stream(&rest);
    pb::io::CodedOutputStream out(&stream);
    while (const std::uint32_t tag = in_.ReadTag()) {
      const bool delimited = WireFormatLite::GetTagWireType(tag) == WireFormatLite::WIRETYPE_LENGTH_DELIMITED;
      if (delimited && wants_.contains(WireFormatLite::GetTagFieldNumber(tag))) {
        std::uint32_t size = 0;
        if (!in_.ReadVarint32(&size)) return false;
        const auto begin = static_cast<std::size_t>(in_.CurrentPosition());
        if (size > bytes_.size() - begin || !in_.Skip(static_cast<int>(size))) return false;
        if (!take(bytes_.subspan(begin, size))) return false;
      } else if (!WireFormatLite::SkipField(&in_, tag, &out) ||
                 static_cast<std::size_t>(out.ByteCount()) > kMaxGraphBytes) {
        return false;
      }
    }
    return in_.ConsumedEntireMessage();
  }

  Walker& wanting(int field) {
    wants_.insert(field);
    return *this;
  }

 private:
  Bytes bytes_;
  CodedInputStream in_;
  std::set<int> wants_;
};

template <class Message, class Take>
bool parse_around(Bytes bytes, int field, Message& message, Take&& take) {
  std::string rest;
  if (!Walker(bytes).wanting(field).walk(rest, take)) return false;
  return message.ParseFromString(rest);
}

bool parse_tensor(Bytes bytes, StoredTensor& tensor) {
  return parse_around(bytes, onnx::TensorProto::kRawDataFieldNumber, tensor.header, [&](Bytes raw) {
    tensor.raw = raw;
    return tensor.has_raw = true;
  });
}

bool parse_model(Bytes bytes, onnx::ModelProto& model, onnx::GraphProto& graph,
                 std::vector<StoredTensor>& tensors) {
  int graphs = 0;
  const bool parsed = parse_around(bytes, onnx::ModelProto::kGraphFieldNumber, model, [&](Bytes graph_bytes) {
    ++graphs;
    return parse_around(
        graph_bytes, onnx::GraphProto::kInitializerFieldNumber, graph,
        [&](Bytes tensor_bytes) { return parse_tensor(tensor_bytes, tensors.emplace_back()); });
  });
  return parsed && graphs == 1;
}

// ------------------------------------------------------------------------------------------ converting

std::string describe(const onnx::ModelProto& model) {
  std::string opsets;
  for (const auto& opset : model.opset_import()) {
    const std::string domain = opset.domain().empty() ? "" : opset.domain() + " ";
    opsets += fmt::format("{}{}{}", opsets.empty() ? "" : ", ", domain, opset.version());
  }
  const std::string producer = model.producer_name().empty() ? "an unnamed program" : model.producer_name();
  return fmt::format("an ONNX model written by {}{}{} (opset {}, IR {})", producer,
                     model.producer_version().empty() ? "" : " ", model.producer_version(),
                     opsets.empty() ? "?" : opsets, model.ir_version());
}

class Converter {
 public:
  Converter(OnnxFile& file, std::optional<fs::path> data_file)
      : file_(file), data_file_(std::move(data_file)) {}

  void convert(const onnx::ModelProto& model, const onnx::GraphProto& graph,
               std::vector<StoredTensor>& tensors, std::shared_ptr<const MappedFile> model_file);

 private:
  void unsupported(std::string what) {
    if (file_.unsupported.empty()) file_.unsupported = std::move(what);
  }

  ValueInfo value_info(const onnx::ValueInfoProto& proto);
  Node node(const onnx::NodeProto& proto);
  Initializer initializer(const StoredTensor& tensor, const std::shared_ptr<const MappedFile>& model_file);
  Bytes external_bytes(const onnx::TensorProto& tensor, std::shared_ptr<const MappedFile>& mapped);
  std::shared_ptr<const MappedFile> data_file(const std::string& location);

  OnnxFile& file_;
  std::optional<fs::path> data_file_;
  std::map<std::string, std::shared_ptr<const MappedFile>> mapped_;
};

ValueInfo Converter::value_info(const onnx::ValueInfoProto& proto) {
  const auto& tensor = proto.type().tensor_type();
  const auto type = element_type(tensor.elem_type());
  if (!type || !tensor.has_shape())
    unsupported(fmt::format("{} has no tensor type that Vitrine knows", proto.name()));
  ValueInfo value{proto.name(), type.value_or(ElementType::f32), {}};
  for (const auto& dim : tensor.shape().dim()) {
    if (dim.has_dim_value()) {
      value.shape.emplace_back(dim.dim_value());
    } else {
      value.shape.emplace_back(dim.dim_param());
    }
  }
  return value;
}

Node Converter::node(const onnx::NodeProto& proto) {
  const bool standard = proto.domain().empty() || proto.domain() == "ai.onnx";
  Node node{proto.name(),
            standard ? proto.op_type() : proto.domain() + "." + proto.op_type(),
            {proto.input().begin(), proto.input().end()},
            {proto.output().begin(), proto.output().end()},
            {}};
  for (const onnx::AttributeProto& attribute : proto.attribute()) {
    Attribute& to = node.attributes[attribute.name()];
    switch (attribute.type()) {
      case onnx::AttributeProto::INT:
        to = std::int64_t{attribute.i()};
        break;
      case onnx::AttributeProto::FLOAT:
        to = attribute.f();
        break;
      case onnx::AttributeProto::STRING:
        to = attribute.s();
        break;
      case onnx::AttributeProto::INTS:
        to = std::vector<std::int64_t>(attribute.ints().begin(), attribute.ints().end());
        break;
      default:
        unsupported(fmt::format("attribute {} of the {} node {} is of a kind that Vitrine does not read",
                                attribute.name(), node.op_type, node.name));
    }
  }
  return node;
}

std::shared_ptr<const MappedFile> Converter::data_file(const std::string& location) {
  std::shared_ptr<const MappedFile>& mapped = mapped_[location];
  if (mapped) return mapped;
  const fs::path name(location);
  if (location.empty() || name != name.filename() || location == "." || location == "..") {
    fail(file_.path, ErrorCode::weights_invalid,
         fmt::format("its data file \"{}\" must be a file in the same folder", location));
  }
  const fs::path path = data_file_.value_or(file_.path.parent_path() / name);
  std::error_code ignored;
  if (!fs::exists(path, ignored)) {
    fail(file_.path, ErrorCode::model_not_found,
         fmt::format("its weights are in {}, which is not there; both files belong together, by these names",
                     path.string()));
  }
  mapped = std::make_shared<const MappedFile>(path, kModelErrors);
  file_.data_files.push_back(path);
  return mapped;
}

std::optional<std::uint64_t> parse_number(const std::string& text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

Bytes Converter::external_bytes(const onnx::TensorProto& tensor, std::shared_ptr<const MappedFile>& mapped) {
  std::map<std::string, std::string> entries;
  for (const auto& entry : tensor.external_data()) entries[entry.key()] = entry.value();
  mapped = data_file(entries["location"]);
  const Bytes bytes = mapped->bytes();
  const auto offset = entries.contains("offset") ? parse_number(entries["offset"]) : std::uint64_t{0};
  if (!offset || *offset > bytes.size()) {
    fail(file_.path, ErrorCode::weights_invalid,
         fmt::format("weight {} begins at byte {} of {}, which has {}", tensor.name(), entries["offset"],
                     mapped->path().string(), bytes.size()));
  }
  const auto length = entries.contains("length") ? parse_number(entries["length"]) : bytes.size() - *offset;
  if (!length || *length > bytes.size() - *offset) {
    fail(file_.path, ErrorCode::weights_invalid,
         fmt::format("weight {} needs {} bytes from byte {} of {}, which has {}", tensor.name(),
                     entries["length"], *offset, mapped->path().string(), bytes.size()));
  }
  return bytes.subspan(static_cast<std::size_t>(*offset), static_cast<std::size_t>(*length));
}

/// Nothing for a shape that is none: a negative dimension, or a product beyond counting (0 counts as 1 there,
/// so that no part of the shape is beyond it either).
std::optional<std::int64_t> count_of(const Shape& shape) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max() / 8;  // in bytes, too
  std::int64_t product = 1;
  bool empty = false;
  for (const std::int64_t dim : shape) {
    if (dim < 0 || (dim > 0 && product > kMost / dim)) return std::nullopt;
    empty = empty || dim == 0;
    product *= dim > 0 ? dim : 1;
  }
  return empty ? 0 : product;
}

Initializer Converter::initializer(const StoredTensor& tensor,
                                   const std::shared_ptr<const MappedFile>& model_file) {
  const onnx::TensorProto& header = tensor.header;
  const auto type = element_type(header.data_type());
  if (!type) unsupported(fmt::format("weight {} has the element type {}", header.name(), header.data_type()));
  Initializer result{
      header.name(), type.value_or(ElementType::u8), {header.dims().begin(), header.dims().end()}, {}};
  const std::optional<std::int64_t> elements = count_of(result.shape);
  if (!elements) {
    fail(file_.path, ErrorCode::weights_invalid,
         fmt::format("weight {} of shape {}: there is no such shape", header.name(),
                     vit::to_string(std::span<const std::int64_t>(result.shape))));
  }
  std::shared_ptr<const MappedFile> mapped = model_file;
  Bytes bytes = tensor.raw;
  if (header.data_location() == onnx::TensorProto::EXTERNAL) {
    bytes = external_bytes(header, mapped);
  } else if (!tensor.has_raw && *elements > 0) {
    unsupported(fmt::format("weight {} is stored as numbers rather than bytes", header.name()));
    return result;
  }
  if (!type) return result;
  if (static_cast<std::uint64_t>(*elements * size_of(*type)) != bytes.size()) {
    fail(file_.path, ErrorCode::weights_invalid,
         fmt::format("weight {} of shape {} and type {} has {} bytes", header.name(),
                     vit::to_string(std::span<const std::int64_t>(result.shape)), to_string(*type),
                     bytes.size()));
  }
  result.data = bytes.data();
  result.fill = [mapped, bytes](std::byte* dst) {
    if (bytes.empty()) return;
    std::memcpy(dst, bytes.data(), bytes.size());
    if (bytes.size() >= kLarge)
      mapped->release_pages(bytes);  // read once, in turn: memory stays that of one weight
  };
  return result;
}

void Converter::convert(const onnx::ModelProto& model, const onnx::GraphProto& graph,
                        std::vector<StoredTensor>& tensors, std::shared_ptr<const MappedFile> model_file) {
  Graph& to = file_.graph;
  to.name = graph.name();
  to.opset = 0;
  to.ir_version = model.ir_version();
  to.producer_name = model.producer_name();
  to.producer_version = model.producer_version();
  to.doc_string = model.doc_string();
  for (const auto& opset : model.opset_import()) {
    if (opset.domain().empty() || opset.domain() == "ai.onnx") to.opset = opset.version();
  }
  if (model.functions_size() > 0 || graph.sparse_initializer_size() > 0)
    unsupported("it has functions or sparse weights");
  for (const auto& entry : model.metadata_props()) to.metadata.emplace_back(entry.key(), entry.value());
  std::set<std::string> constants;
  for (const StoredTensor& tensor : tensors) {
    to.initializers.push_back(initializer(tensor, model_file));
    constants.insert(tensor.header.name());
  }
  for (const auto& input : graph.input()) {
    if (!constants.contains(input.name())) to.inputs.push_back(value_info(input));
  }
  for (const auto& output : graph.output()) to.outputs.push_back(value_info(output));
  for (const auto& proto : graph.node()) to.nodes.push_back(node(proto));
}

std::string_view what_it_is(Bytes bytes) {
  const std::string_view text = as_text(bytes.first(std::min<std::size_t>(bytes.size(), 64)));
  if (bytes.empty()) return "the file is empty";
  if (text.starts_with("version https://git-lfs"))
    return "a Git LFS pointer, not the model itself: run git lfs pull";
  if (text.starts_with("<")) return "a web page, not an ONNX model: the download went wrong";
  return "not an ONNX model, or a damaged one: its Protobuf message breaks off or makes no sense";
}

}  // namespace

OnnxFile read_onnx(const fs::path& path, const std::optional<fs::path>& data_file) {
  OnnxFile file;
  file.path = path;
  const auto mapped = std::make_shared<const MappedFile>(path, kModelErrors);
  if (mapped->bytes().size() > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    fail(path, ErrorCode::weights_invalid,
         fmt::format("{} bytes, but an ONNX file has less than 2 GiB", mapped->bytes().size()));
  }
  onnx::ModelProto model;
  onnx::GraphProto graph;
  std::vector<StoredTensor> tensors;
  if (mapped->bytes().empty() || !parse_model(mapped->bytes(), model, graph, tensors))
    fail(path, ErrorCode::weights_invalid, what_it_is(mapped->bytes()));
  file.description = describe(model);
  Converter(file, data_file).convert(model, graph, tensors, mapped);
  return file;
}

}  // namespace vit::exporter
