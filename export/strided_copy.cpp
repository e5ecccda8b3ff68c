#include "export/strided_copy.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

namespace vit::exporter {
namespace {

struct Axis {
  std::int64_t extent;
  std::int64_t target;  // strides
  std::int64_t source;
};

/// The same elements with as few axes as possible, at least two.
std::vector<Axis> collapse(const Shape& shape, const Shape& target, const Shape& source) {
  std::vector<Axis> axes;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 1) continue;
    const Axis axis{shape[i], target[i], source[i]};
    if (!axes.empty() && axes.back().target == axis.target * axis.extent &&
        axes.back().source == axis.source * axis.extent) {
      axes.back() = {axes.back().extent * axis.extent, axis.target, axis.source};
    } else {
      axes.push_back(axis);
    }
  }
  while (axes.size() < 2) axes.insert(axes.begin(), Axis{1, 0, 0});
  if (axes.size() == 2 && axes[0].extent == 1 && axes[1].extent == 1) axes[1] = {1, 1, 1};
  return axes;
}

/// One row after the other; or, of a transposition, blocks that stay in the cache.
template <class T>
void copy_plane(const Axis& rows, const Axis& columns, std::byte* target, const std::byte* source) {
  constexpr std::int64_t kBlock = 64;
  auto* to = reinterpret_cast<T*>(target);
  const auto* from = reinterpret_cast<const T*>(source);
  if (columns.target == 1 && columns.source == 1) {
    for (std::int64_t r = 0; r < rows.extent; ++r) {
      std::memcpy(to + r * rows.target, from + r * rows.source,
                  static_cast<std::size_t>(columns.extent) * sizeof(T));
    }
    return;
  }
  for (std::int64_t begin = 0; begin < columns.extent; begin += kBlock) {
    const std::int64_t end = std::min(begin + kBlock, columns.extent);
    for (std::int64_t r = 0; r < rows.extent; ++r) {
      T* to_row = to + r * rows.target;
      const T* from_row = from + r * rows.source;
      for (std::int64_t c = begin; c < end; ++c) to_row[c * columns.target] = from_row[c * columns.source];
    }
  }
}

using PlaneCopy = void (*)(const Axis& rows, const Axis& columns, std::byte* target, const std::byte* source);

PlaneCopy plane_copy(std::int64_t element_bytes) {
  switch (element_bytes) {
    case 1:
      return copy_plane<std::uint8_t>;
    case 2:
      return copy_plane<std::uint16_t>;
    case 4:
      return copy_plane<std::uint32_t>;
    default:
      return copy_plane<std::uint64_t>;
  }
}

}  // namespace

void copy_strided(const Shape& shape, std::int64_t element_bytes, const StridedTarget& target,
                  const StridedSource& source, Workers& workers) {
  if (element_count(shape) == 0) return;
  std::vector<Axis> axes = collapse(shape, target.strides, source.strides);
  const Axis columns = axes.back();
  axes.pop_back();
  // The rows are along the axis whose elements are neighbours in the source: then a block of rows and columns
  // reads whole cache lines.
  auto row_axis = std::find_if(axes.begin(), axes.end(), [](const Axis& axis) { return axis.source == 1; });
  if (row_axis == axes.end()) row_axis = axes.end() - 1;
  const Axis rows = *row_axis;
  axes.erase(row_axis);

  constexpr std::int64_t kRows = 16;
  const std::int64_t blocks = (rows.extent + kRows - 1) / kRows;
  std::int64_t planes = 1;
  for (const Axis& axis : axes) planes *= axis.extent;
  const PlaneCopy copy = plane_copy(element_bytes);
  const std::int64_t grain = 1 + (std::int64_t{1} << 14) / std::max<std::int64_t>(columns.extent * kRows, 1);
  workers.for_parts(planes * blocks, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t first_row = i % blocks * kRows;
      std::int64_t rest = i / blocks;
      std::int64_t to = first_row * rows.target;
      std::int64_t from = first_row * rows.source;
      for (std::size_t a = axes.size(); a-- > 0; rest /= axes[a].extent) {
        to += rest % axes[a].extent * axes[a].target;
        from += rest % axes[a].extent * axes[a].source;
      }
      const Axis some_rows{std::min(kRows, rows.extent - first_row), rows.target, rows.source};
      copy(some_rows, columns, target.data + to * element_bytes, source.data + from * element_bytes);
    }
  });
}

}  // namespace vit::exporter
