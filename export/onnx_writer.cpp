// Graph -> .onnx. The messages are written by hand where they contain weights, field by field as Protobuf
// would (https://protobuf.dev/programming-guides/encoding), so that a weight exists in memory only while it
// is written.
#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <onnx/onnx_pb.h>

#include <span>

#include "export/onnx_file.hpp"
#include "export/onnx_proto.hpp"
#include "vit/error.hpp"

namespace vit::exporter {
namespace {

namespace pb = google::protobuf;
using pb::io::CodedOutputStream;

constexpr std::uint64_t kSmallest = 1024;    // smaller weights stay in the model
constexpr std::uint64_t kLarge = 64 * 1024;  // of these, the offset is a multiple of as much
constexpr std::uint64_t kAlignment = 64;     // of the others

constexpr std::uint32_t length_delimited(int field) {
  return static_cast<std::uint32_t>(field) << 3U | 2U;
}

/// Protobuf's sink. Errors are kept for later: exceptions must not cross its code.
class FileSink : public pb::io::CopyingOutputStream {
 public:
  explicit FileSink(AtomicFile& file) : file_(file) {}

  bool Write(const void* buffer, int size) override {
    try {
      file_.append({static_cast<const std::byte*>(buffer), static_cast<std::size_t>(size)});
      return true;
    } catch (const Error& error) {
      error_ = error;
      return false;
    }
  }

  void check() const {
    if (error_) throw *error_;
  }

 private:
  AtomicFile& file_;
  std::optional<Error> error_;
};

const ExternalData::Region* region_of(const Initializer& initializer, const ExternalData* data) {
  if (data == nullptr) return nullptr;
  const auto found = data->regions.find(initializer.name);
  return found == data->regions.end() ? nullptr : &found->second;
}

/// A TensorProto without its bytes.
std::string tensor_header(const Initializer& initializer, const ExternalData* data) {
  onnx::TensorProto proto;
  set_header(proto, initializer);
  if (const auto* region = region_of(initializer, data)) {
    const auto add = [&](const char* key, const std::string& value) {
      onnx::StringStringEntryProto& entry = *proto.add_external_data();
      entry.set_key(key);
      entry.set_value(value);
    };
    add("location", data->location);
    add("offset", std::to_string(region->offset));
    add("length", std::to_string(region->length));
    proto.set_data_location(onnx::TensorProto::EXTERNAL);
  }
  return proto.SerializeAsString();
}

/// Bytes of tag, length and content of a field.
std::uint64_t field_size(int field, std::uint64_t content) {
  return CodedOutputStream::VarintSize32(length_delimited(field)) + CodedOutputStream::VarintSize64(content) +
         content;
}

std::uint64_t tensor_size(const Initializer& initializer, const std::string& header,
                          const ExternalData* data) {
  if (region_of(initializer, data) != nullptr) return header.size();
  return header.size() +
         field_size(onnx::TensorProto::kRawDataFieldNumber, static_cast<std::uint64_t>(initializer.bytes()));
}

void write_start(CodedOutputStream& out, int field, std::uint64_t size) {
  out.WriteTag(length_delimited(field));
  out.WriteVarint64(size);
}

void write_payload(CodedOutputStream& out, const Initializer& initializer) {
  if (initializer.bytes() == 0) return;  // no address to give to Protobuf
  std::vector<std::byte> bytes(static_cast<std::size_t>(initializer.bytes()));
  initializer.fill(bytes.data());
  out.WriteRaw(bytes.data(), static_cast<int>(bytes.size()));
}

void write_model(const Graph& graph, const ExternalData* data, AtomicFile& file) {
  const std::string head = graph_head(graph).SerializeAsString();
  const std::string tail = graph_tail(graph).SerializeAsString();
  std::vector<std::string> headers;
  std::uint64_t graph_size = head.size() + tail.size();
  for (const Initializer& initializer : graph.initializers) {
    headers.push_back(tensor_header(initializer, data));
    graph_size +=
        field_size(onnx::GraphProto::kInitializerFieldNumber, tensor_size(initializer, headers.back(), data));
  }

  FileSink sink(file);
  pb::io::CopyingOutputStreamAdaptor adaptor(&sink, 1 << 20);
  {
    CodedOutputStream out(&adaptor);
    out.WriteString(model_head(graph).SerializeAsString());
    write_start(out, onnx::ModelProto::kGraphFieldNumber, graph_size);
    out.WriteString(head);
    for (std::size_t i = 0; i < headers.size() && !out.HadError(); ++i) {
      const Initializer& initializer = graph.initializers[i];
      write_start(out, onnx::GraphProto::kInitializerFieldNumber, tensor_size(initializer, headers[i], data));
      out.WriteString(headers[i]);
      if (region_of(initializer, data) != nullptr) continue;
      write_start(out, onnx::TensorProto::kRawDataFieldNumber,
                  static_cast<std::uint64_t>(initializer.bytes()));
      write_payload(out, initializer);
    }
    out.WriteString(tail);
    out.WriteString(model_tail(graph).SerializeAsString());
  }
  adaptor.Flush();
  sink.check();
}

}  // namespace

std::int64_t initializer_bytes(const Graph& graph) {
  std::int64_t bytes = 0;
  for (const Initializer& initializer : graph.initializers) bytes += initializer.bytes();
  return bytes;
}

void write_onnx(const Graph& graph, AtomicFile& file) {
  if (const std::int64_t bytes = initializer_bytes(graph); bytes > kMaxInlineBytes) {
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format(
            "{}: {} bytes of weights do not fit into one ONNX file, which holds at most {}; they need "
            "a data file beside it",
            file.target().string(), bytes, kMaxInlineBytes));
  }
  write_model(graph, nullptr, file);
}

void write_onnx(const Graph& graph, const ExternalData& data, AtomicFile& file) {
  write_model(graph, &data, file);
}

ExternalData external_layout(const Graph& graph, std::string location) {
  ExternalData data{std::move(location), {}};
  std::uint64_t end = 0;
  for (const Initializer& initializer : graph.initializers) {
    const auto length = static_cast<std::uint64_t>(initializer.bytes());
    if (length < kSmallest) continue;
    const std::uint64_t alignment = length >= kLarge ? kLarge : kAlignment;
    const std::uint64_t offset = (end + alignment - 1) / alignment * alignment;
    data.regions[initializer.name] = {offset, length};
    end = offset + length;
  }
  return data;
}

ExternalData write_external_data(const Graph& graph, AtomicFile& file, std::string location) {
  ExternalData data = external_layout(graph, std::move(location));
  for (const Initializer& initializer : graph.initializers) {
    const auto region = data.regions.find(initializer.name);
    if (region == data.regions.end()) continue;
    std::vector<std::byte> bytes(static_cast<std::size_t>(region->second.length));
    initializer.fill(bytes.data());
    file.write_at(region->second.offset, bytes);
  }
  return data;
}

}  // namespace vit::exporter
