#include "vit/backend/relative_bias.hpp"

namespace vit::backend {

RelativeBias::RelativeBias(const Tensor& table, Size2 grid)
    : grid_(grid),
      heads_(table.shape()[1]),
      distances_({heads_, 2 * grid.height - 1, 2 * grid.width - 1}),
      class_({heads_, 3}) {
  const std::int64_t count = table.shape()[0] - 3;
  for (std::int64_t h = 0; h < heads_; ++h) {
    for (std::int64_t i = 0; i < count; ++i)  // backwards: from query minus key to key minus query
      distances_.data()[h * count + i] = table.data()[(count - 1 - i) * heads_ + h];
    for (std::int64_t i = 0; i < 3; ++i) class_.data()[h * 3 + i] = table.data()[(count + i) * heads_ + h];
  }
}

void RelativeBias::add_to_query(float* scores, std::int64_t head, std::int64_t query) const {
  const float* const class_token = class_.data() + head * 3;
  const std::int64_t patches = grid_.height * grid_.width;
  if (query == 0) {
    scores[0] += class_token[2];
    for (std::int64_t key = 1; key <= patches; ++key) scores[key] += class_token[0];
    return;
  }
  scores[0] += class_token[1];
  const std::int64_t y = (query - 1) / grid_.width;
  const std::int64_t x = (query - 1) % grid_.width;
  const std::int64_t columns = 2 * grid_.width - 1;
  const float* row = distances_.data() + (head * (2 * grid_.height - 1) + grid_.height - 1 - y) * columns +
                     grid_.width - 1 - x;
  float* key = scores + 1;
  for (std::int64_t key_row = 0; key_row < grid_.height; ++key_row, row += columns, key += grid_.width) {
    for (std::int64_t i = 0; i < grid_.width; ++i) key[i] += row[i];
  }
}

void RelativeBias::add_to(float* scores, std::int64_t head, std::int64_t first, std::int64_t rows) const {
  const std::int64_t T = 1 + grid_.height * grid_.width;
  for (std::int64_t i = 0; i < rows; ++i) add_to_query(scores + i * T, head, first + i);
}

}  // namespace vit::backend
