#include "io/release_sizes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "vit/error.hpp"

namespace vit::io {

std::optional<std::int64_t> heads_of_64(std::int64_t hidden_size) {
  return hidden_size > 0 && hidden_size % 64 == 0 ? std::optional(hidden_size / 64) : std::nullopt;
}

std::optional<std::int64_t> square_side(std::int64_t patches) {
  if (patches < 1) return std::nullopt;
  const auto side = static_cast<std::int64_t>(std::sqrt(static_cast<double>(patches)));
  return side * side == patches ? std::optional(side) : std::nullopt;
}

std::size_t count_found(const WeightFiles& files, std::initializer_list<std::string_view> names) {
  return static_cast<std::size_t>(std::count_if(
      names.begin(), names.end(), [&](std::string_view name) { return files.find(name) != nullptr; }));
}

std::int64_t ReleaseSizes::note(std::string_view key, std::int64_t value, std::string source) {
  args_.note(key, std::to_string(value), std::move(source));
  return value;
}

Shape ReleaseSizes::shape(std::string_view tensor, std::size_t dimensions) const {
  const StoredTensor* stored = files_.find(tensor);
  return stored != nullptr && stored->shape.size() == dimensions ? stored->shape : Shape{};
}

std::int64_t ReleaseSizes::integer(std::string_view key, std::string_view tensor, std::size_t axis,
                                   std::optional<std::int64_t> otherwise) {
  if (const auto value = args_.find_integer(key)) return args_.integer(key, *value);
  const StoredTensor* stored = files_.find(tensor);
  if (stored != nullptr && axis < stored->shape.size())
    return note(key, stored->shape[axis], fmt::format("shape of {}", tensor));
  if (!otherwise) {
    config_.fail(ErrorCode::config_invalid,
                 fmt::format("\"{}\": neither \"model_args\" nor a tensor {} says it", key, tensor));
  }
  return note(key, *otherwise, "default");
}

std::int64_t ReleaseSizes::outputs(std::string_view key, std::string_view weight, std::size_t axis,
                                   std::string_view bias) {
  const bool weightless = !has(weight) && has(bias);
  return weightless ? integer(key, bias, 0) : integer(key, weight, axis);
}

std::int64_t ReleaseSizes::blocks(std::string_view key, std::string_view prefix, std::string_view suffix) {
  if (const auto value = args_.find_integer(key)) return args_.integer(key, *value);
  std::int64_t count = 0;
  while (files_.find(fmt::format("{}{}{}", prefix, count, suffix)) != nullptr) ++count;
  return note(key, count, fmt::format("number of {}*{}", prefix, suffix));
}

Size2 ReleaseSizes::patch(std::string_view key, std::string_view tensor, std::size_t axis, Size2 otherwise) {
  if (find(args_.json(), key) != nullptr) return args_.size(key, otherwise);
  std::string source = "default";
  const StoredTensor* stored = files_.find(tensor);
  if (stored != nullptr && stored->shape.size() >= axis + 2) {
    otherwise = {stored->shape[axis], stored->shape[axis + 1]};
    source = fmt::format("shape of {}", tensor);
  }
  args_.note(key, fmt::format("[{}, {}]", otherwise.height, otherwise.width), std::move(source));
  return otherwise;
}

Size2 ReleaseSizes::image(std::string_view key, std::string_view tensor, std::int64_t prefix, Size2 patch,
                          Size2 otherwise) {
  if (find(args_.json(), key) != nullptr) return args_.size(key, {});
  Size2 size = otherwise;
  std::string source = "default";
  const Shape rows = shape(tensor, 3);
  if (const auto side = rows.empty() ? std::nullopt : square_side(rows[1] - prefix)) {
    size = {*side * patch.height, *side * patch.width};
    source = fmt::format("rows of {}", tensor);
  }
  args_.note(key, fmt::format("[{}, {}]", size.height, size.width), std::move(source));
  return size;
}

std::int64_t ReleaseSizes::heads(std::string_view key, std::optional<std::int64_t> known) {
  if (const auto value = args_.find_integer(key)) return args_.integer(key, *value);
  if (!known) {
    config_.fail(
        ErrorCode::config_invalid,
        fmt::format("\"{}\": no tensor shows it, and no release has this width; a config.json beside "
                    "the weights can say it: {{\"model_args\": {{\"{}\": …}}}}",
                    key, key));
  }
  return note(key, *known, "the releases of this width");
}

}  // namespace vit::io
