#include "io/safetensors_writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <set>

#include "io/json.hpp"
#include "vit/error.hpp"
#include "vit/half.hpp"

namespace vit::io {
namespace {

constexpr std::uint64_t kLengthBytes = 8;
constexpr std::uint64_t kAlignment = 8;  // of the data, as the reference writes it

/// Elements of a row of a growing tensor.
std::int64_t row_size(const Shape& shape) {
  return element_count(std::span(shape).subspan(1));
}

bool grows(const Shape& shape) {
  return !shape.empty() && shape.front() == SafetensorsWriter::kGrowing;
}

[[noreturn]] void misuse(std::string_view tensor, std::string_view what) {
  throw Error(ErrorCode::invalid_argument, fmt::format("tensor \"{}\": {}", tensor, what));
}

void check(const std::vector<TensorSpec>& tensors) {
  std::set<std::string_view> names;
  for (const TensorSpec& tensor : tensors) {
    if (!names.insert(tensor.name).second || tensor.name == "__metadata__")
      misuse(tensor.name, "the name is taken");
    const bool growing = grows(tensor.shape);
    if (growing && &tensor != &tensors.back()) misuse(tensor.name, "only the last tensor may grow");
    for (std::size_t i = growing ? 1 : 0; i < tensor.shape.size(); ++i) {
      if (tensor.shape[i] < 0)
        misuse(tensor.name, fmt::format("the shape {} is negative", to_string(tensor.shape)));
    }
  }
}

}  // namespace

SafetensorsWriter::SafetensorsWriter(const std::filesystem::path& target, std::vector<TensorSpec> tensors,
                                     const SafetensorsMetadata& metadata, const FileDTypes& dtypes)
    : file_(target), metadata_(metadata) {
  check(tensors);
  if (!dtypes.others.empty() && !tensors.empty() && grows(tensors.back().shape))
    misuse(tensors.back().name, "a tensor grows only where all have one dtype");
  for (TensorSpec& tensor : tensors) {
    const auto other = dtypes.others.find(tensor.name);
    const DType dtype = other == dtypes.others.end() ? dtypes.most : other->second;
    regions_.push_back({std::move(tensor), dtype, 0, 0});
  }
  lay_out();
  const std::uint64_t reserved = header(true).size();
  data_offset_ = kLengthBytes + (reserved + kAlignment - 1) / kAlignment * kAlignment;
}

/// Large elements first, so that all are aligned without gaps.
void SafetensorsWriter::lay_out() {
  std::uint64_t begin = 0;
  for (const std::int64_t element : {4, 2, 1}) {
    for (Region& r : regions_) {
      if (size_of(r.dtype) != element) continue;
      r.begin = begin;
      if (!grows(r.spec.shape)) begin += static_cast<std::uint64_t>(element_count(r.spec.shape) * element);
    }
  }
}

SafetensorsWriter::Region& SafetensorsWriter::region(std::string_view name) {
  const auto at =
      std::find_if(regions_.begin(), regions_.end(), [&](const Region& r) { return r.spec.name == name; });
  if (at == regions_.end()) misuse(name, "was not declared");
  return *at;
}

void SafetensorsWriter::append(Region& to, std::span<const std::byte> bytes) {
  const auto size = static_cast<std::uint64_t>(size_of(to.dtype));
  const std::uint64_t count = to.written + bytes.size() / size;
  if (!grows(to.spec.shape) && count > static_cast<std::uint64_t>(element_count(to.spec.shape))) {
    misuse(to.spec.name,
           fmt::format("{} values are more than the shape {} has", count, to_string(to.spec.shape)));
  }
  file_.write_at(data_offset_ + to.begin + to.written * size, bytes);
  to.written = count;
}

void SafetensorsWriter::write(std::string_view name, std::span<const float> values) {
  Region& to = region(name);
  if (to.dtype == DType::i8) misuse(name, "its values are integers");
  if (to.dtype == DType::f32) return append(to, std::as_bytes(values));
  append(to, to_bytes(values, to.dtype));
}

void SafetensorsWriter::write_levels(std::string_view name, std::span<const std::int8_t> levels) {
  Region& to = region(name);
  if (to.dtype != DType::i8) misuse(name, fmt::format("its values are {}, no integers", to_string(to.dtype)));
  append(to, std::as_bytes(levels));
}

/// `widest`: as long as it can become, whatever the growing tensor's number of rows.
std::string SafetensorsWriter::header(bool widest) const {
  Json root = Json::object();
  if (!metadata_.empty()) root["__metadata__"] = metadata_;
  for (const Region& r : regions_) {
    Shape shape = r.spec.shape;
    std::uint64_t end = r.begin + r.written * size_of(r.dtype);
    if (grows(shape)) {
      const auto rows = static_cast<std::int64_t>(r.written) / std::max<std::int64_t>(row_size(shape), 1);
      shape.front() = widest ? std::numeric_limits<std::int64_t>::max() : rows;
      if (widest) end = std::numeric_limits<std::uint64_t>::max();
    } else {
      end = r.begin + static_cast<std::uint64_t>(element_count(shape)) * size_of(r.dtype);
    }
    root[r.spec.name] = {{"dtype", to_string(r.dtype)}, {"shape", shape}, {"data_offsets", {r.begin, end}}};
  }
  return root.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void SafetensorsWriter::finish() {
  for (const Region& r : regions_) {
    const Shape& shape = r.spec.shape;
    const bool complete =
        grows(shape) ? static_cast<std::int64_t>(r.written) % std::max<std::int64_t>(row_size(shape), 1) == 0
                     : r.written == static_cast<std::uint64_t>(element_count(shape));
    if (!complete) {
      misuse(r.spec.name, fmt::format("{} values do not fill the shape {}", r.written, to_string(shape)));
    }
  }
  std::string text = header(false);
  text.resize(static_cast<std::size_t>(data_offset_ - kLengthBytes), ' ');
  const std::uint64_t length = text.size();
  std::byte length_bytes[kLengthBytes];
  std::memcpy(length_bytes, &length, sizeof length);
  file_.write_at(0, length_bytes);
  file_.write_at(kLengthBytes, std::as_bytes(std::span(text)));
  file_.commit();
}

void write_safetensors(const std::filesystem::path& target,
                       const std::vector<std::pair<std::string, ConstTensorView>>& tensors,
                       const SafetensorsMetadata& metadata) {
  std::vector<TensorSpec> specs;
  for (const auto& [name, view] : tensors) specs.push_back({name, view.shape});
  SafetensorsWriter writer(target, std::move(specs), metadata);
  for (const auto& [name, view] : tensors)
    writer.write(name, {view.data, static_cast<std::size_t>(view.size())});
  writer.finish();
}

}  // namespace vit::io
