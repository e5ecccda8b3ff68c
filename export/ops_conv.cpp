// Conv: the picture is unfolded into a matrix of its patches, which the filters are multiplied with.
#include <algorithm>
#include <array>
#include <utility>

#include "export/matmul.hpp"
#include "export/operators.hpp"

namespace vit::exporter {
namespace {

struct ConvOptions {
  std::optional<std::vector<std::int64_t>> kernel;
  std::array<std::int64_t, 2> stride = {1, 1};
  std::array<std::int64_t, 2> before = {0, 0};  ///< zeros in front of the first row, the first column
  std::array<std::int64_t, 2> after = {0, 0};
};

class Convolution {
 public:
  Convolution(const Arguments& arguments, const ConvOptions& options)
      : arguments_(arguments), options_(options) {
    const Shape& x = arguments[0].shape();
    const Shape& w = arguments[1].shape();
    arguments.expect(x.size() == 4 && w.size() == 4, "not a convolution along two axes");
    arguments.expect(x[1] == w[1], "the filters have another number of channels");
    kernel_ = {w[2], w[3]};
    picture_ = {x[2], x[3]};
    arguments.expect(!options.kernel || *options.kernel == Shape(w.begin() + 2, w.end()),
                     "kernel_shape is not the filters' shape");
    arguments.expect(!arguments.has(2) || arguments[2].shape() == Shape{w[0]},
                     "not one bias for each filter");
    for (std::size_t axis = 0; axis < 2; ++axis) {
      const std::int64_t room = picture_[axis] + options.before[axis] + options.after[axis] - kernel_[axis];
      arguments.expect(kernel_[axis] > 0 && room >= 0, "the filters are larger than the picture");
      output_[axis] = room / options.stride[axis] + 1;
    }
    depth_ = x[1] * kernel_[0] * kernel_[1];
  }

  Value compute() const {
    const std::int64_t filters = arguments_[1].shape()[0];
    const std::int64_t batch = arguments_[0].shape()[0];
    Value result = arguments_.allocate(ElementType::f32, {batch, filters, output_[0], output_[1]});
    if (result.size() == 0) return result;
    const std::int64_t picture_size = element_count(arguments_[0].shape()) / batch;
    const std::int64_t positions = output_[0] * output_[1];
    // Not all positions at once, to bound the memory.
    constexpr std::int64_t kMostUnfolded = std::int64_t{1} << 24;
    const std::int64_t most =
        std::clamp<std::int64_t>(kMostUnfolded / std::max<std::int64_t>(depth_, 1), 1, positions);
    std::vector<float> unfolded(static_cast<std::size_t>(most * depth_));
    for (std::int64_t b = 0; b < batch; ++b) {
      for (std::int64_t first = 0; first < positions; first += most) {
        const std::int64_t count = std::min(most, positions - first);
        unfold(arguments_[0].f32() + b * picture_size, first, count, unfolded.data());
        const ProductShape sizes{filters, depth_, count, {depth_, 1}, {count, 1}, positions};
        const Product product{arguments_[1].f32(), unfolded.data(),
                              result.f32() + b * filters * positions + first};
        matmul(sizes, {&product, 1}, arguments_.workers());
      }
    }
    if (arguments_.has(2)) add_bias(result);
    return result;
  }

 private:
  /// [depth, count] <- what the filters meet at `count` of the output's positions.
  void unfold(const float* picture, std::int64_t first, std::int64_t count, float* to) const {
    arguments_.workers().for_parts(depth_, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        unfold_row(picture, i, first, {to + i * count, static_cast<std::size_t>(count)});
      }
    });
  }

  /// One row of it: for one element of the filters.
  void unfold_row(const float* picture, std::int64_t element, std::int64_t first, std::span<float> to) const {
    const std::int64_t kx = element % kernel_[1];
    const std::int64_t ky = element / kernel_[1] % kernel_[0];
    const float* plane = picture + element / (kernel_[0] * kernel_[1]) * picture_[0] * picture_[1];
    std::int64_t row = first / output_[1];
    std::int64_t col = first % output_[1];
    for (float& value : to) {
      const std::int64_t y = row * options_.stride[0] + ky - options_.before[0];
      const std::int64_t x = col * options_.stride[1] + kx - options_.before[1];
      const bool inside = y >= 0 && y < picture_[0] && x >= 0 && x < picture_[1];
      value = inside ? plane[y * picture_[1] + x] : 0;
      if (++col < output_[1]) continue;
      col = 0;
      ++row;
    }
  }

  void add_bias(Value& result) const {
    const std::int64_t filters = result.shape()[1];
    const std::int64_t positions = output_[0] * output_[1];
    float* to = result.f32();
    for (std::int64_t i = 0; i < result.shape()[0] * filters; ++i, to += positions) {
      const float bias = arguments_[2].f32()[i % filters];
      std::for_each(to, to + positions, [&](float& value) { value += bias; });
    }
  }

  const Arguments& arguments_;
  const ConvOptions& options_;
  std::array<std::int64_t, 2> kernel_ = {};  // rows and columns, as the two below
  std::array<std::int64_t, 2> picture_ = {};
  std::array<std::int64_t, 2> output_ = {};
  std::int64_t depth_ = 0;  // elements of a filter
};

/// An attribute of `size` numbers that are not below `least`; all of them `least` where it is left out.
std::vector<std::int64_t> read_sizes(NodeReader& node, const std::string& name, std::size_t size,
                                     std::int64_t least) {
  std::vector<std::int64_t> sizes = node.integers(name).value_or(std::vector<std::int64_t>(size, least));
  const bool fits = std::all_of(sizes.begin(), sizes.end(),
                                [&](std::int64_t s) { return s >= least && s <= kMaxElements; });
  if (sizes.size() != size || !fits) node.refuse_attribute(name);
  return sizes;
}

}  // namespace

Operator make_conv(NodeReader& node) {
  node.expect_inputs(2, 3);
  node.expect_types(ElementType::f32);
  node.expect_text("auto_pad", "NOTSET");
  node.expect_integer("group", 1);
  const std::vector<std::int64_t> dilations = read_sizes(node, "dilations", 2, 1);
  if (dilations != std::vector<std::int64_t>{1, 1}) node.refuse_attribute("dilations");
  const std::vector<std::int64_t> strides = read_sizes(node, "strides", 2, 1);
  const std::vector<std::int64_t> pads = read_sizes(node, "pads", 4, 0);
  ConvOptions options{.kernel = node.integers("kernel_shape")};
  for (std::size_t axis = 0; axis < 2; ++axis) {
    options.stride[axis] = strides[axis];
    options.before[axis] = pads[axis];
    options.after[axis] = pads[2 + axis];
  }
  return {ElementType::f32, [options](const Arguments& arguments) -> std::vector<Value> {
            return {Convolution(arguments, options).compute()};
          }};
}

}  // namespace vit::exporter
