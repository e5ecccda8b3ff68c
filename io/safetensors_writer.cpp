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
                                     const SafetensorsMetadata& metadata, DType dtype)
    : file_(target), metadata_(metadata), dtype_(dtype) {
  check(tensors);
  std::uint64_t begin = 0;
  for (TensorSpec& tensor : tensors) {
    const std::uint64_t size =
        grows(tensor.shape) ? 0 : static_cast<std::uint64_t>(element_count(tensor.shape));
    regions_.push_back({std::move(tensor), begin, 0});
    begin += size * size_of(dtype_);
  }
  const std::uint64_t reserved = header(true).size();
  data_offset_ = kLengthBytes + (reserved + kAlignment - 1) / kAlignment * kAlignment;
}

SafetensorsWriter::Region& SafetensorsWriter::region(std::string_view name) {
  const auto at =
      std::find_if(regions_.begin(), regions_.end(), [&](const Region& r) { return r.spec.name == name; });
  if (at == regions_.end()) misuse(name, "was not declared");
  return *at;
}

void SafetensorsWriter::write(std::string_view name, std::span<const float> values) {
  Region& to = region(name);
  if (!grows(to.spec.shape) &&
      to.written + values.size() > static_cast<std::uint64_t>(element_count(to.spec.shape))) {
    misuse(name, fmt::format("{} values are more than the shape {} has", to.written + values.size(),
                             to_string(to.spec.shape)));
  }
  const std::uint64_t at = data_offset_ + to.begin + to.written * size_of(dtype_);
  if (dtype_ == DType::f32) {
    file_.write_at(at, std::as_bytes(values));
  } else {
    file_.write_at(at, to_bytes(values, dtype_));
  }
  to.written += values.size();
}

/// `widest`: as long as it can become, whatever the growing tensor's number of rows.
std::string SafetensorsWriter::header(bool widest) const {
  Json root = Json::object();
  if (!metadata_.empty()) root["__metadata__"] = metadata_;
  for (const Region& r : regions_) {
    Shape shape = r.spec.shape;
    std::uint64_t end = r.begin + r.written * size_of(dtype_);
    if (grows(shape)) {
      const auto rows = static_cast<std::int64_t>(r.written) / std::max<std::int64_t>(row_size(shape), 1);
      shape.front() = widest ? std::numeric_limits<std::int64_t>::max() : rows;
      if (widest) end = std::numeric_limits<std::uint64_t>::max();
    } else {
      end = r.begin + static_cast<std::uint64_t>(element_count(shape)) * size_of(dtype_);
    }
    root[r.spec.name] = {{"dtype", to_string(dtype_)}, {"shape", shape}, {"data_offsets", {r.begin, end}}};
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
