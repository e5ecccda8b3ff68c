#include "io/embedding_array.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>

#include "io/npz_file.hpp"
#include "io/safetensors.hpp"
#include "vit/error.hpp"
#include "vit/parallel.hpp"
#include "vit/tensor.hpp"

namespace vit::io {
namespace {

constexpr std::string_view kTensor = "embeddings";
constexpr std::int64_t kBlockBytes = std::int64_t{4} << 20;

[[noreturn]] void refuse(const std::filesystem::path& path, std::string_view what) {
  throw Error(ErrorCode::tensor_invalid, fmt::format("{}: {}", path.string(), what));
}

StoredTensor read_npy(const MappedFile& file) {
  try {
    const StridedTensor array = parse_npy(file.bytes());
    if (array.strides != row_major_strides(array.shape))
      refuse(file.path(), "its elements lie column by column (fortran_order), expected row by row");
    return {{}, array.type.name, array.type.float_dtype, array.shape, array.storage};
  } catch (const Error&) {
    throw;
  } catch (const std::runtime_error& e) {
    refuse(file.path(), e.what());
  }
}

StoredTensor read_safetensors(const MappedFile& file) {
  SafetensorsContent content =
      parse_safetensors(file.bytes(), file.path().string(), ErrorCode::tensor_invalid);
  for (StoredTensor& tensor : content.tensors)
    if (tensor.name == kTensor) return std::move(tensor);
  refuse(file.path(), fmt::format("has no tensor \"{}\", expected what vitrine embed writes", kTensor));
}

/// What is better comes first.
bool is_nearer(const Neighbour& a, const Neighbour& b) {
  return a.score > b.score || (a.score == b.score && a.row < b.row);
}

/// The best k of those that were offered: a heap whose first is the worst.
class Nearest {
 public:
  explicit Nearest(std::size_t k) : k_(k) {}

  void offer(const Neighbour& candidate) {
    if (heap_.size() == k_) {
      if (!is_nearer(candidate, heap_.front())) return;
      std::pop_heap(heap_.begin(), heap_.end(), is_nearer);
      heap_.pop_back();
    }
    heap_.push_back(candidate);
    std::push_heap(heap_.begin(), heap_.end(), is_nearer);
  }

  const std::vector<Neighbour>& unsorted() const { return heap_; }

  std::vector<Neighbour> sorted() && {
    std::sort_heap(heap_.begin(), heap_.end(), is_nearer);
    return std::move(heap_);
  }

 private:
  std::size_t k_;
  std::vector<Neighbour> heap_;
};

/// Σ a b in single precision, in lanes that the compiler can keep in registers.
float dot(const std::byte* a, const float* b, std::int64_t size) {
  constexpr std::int64_t kLanes = 16;
  std::array<float, kLanes> sums{};
  std::array<float, kLanes> x;
  std::int64_t i = 0;
  for (; i + kLanes <= size; i += kLanes) {
    std::memcpy(x.data(), a + 4 * i, sizeof x);
    for (std::int64_t lane = 0; lane < kLanes; ++lane) sums[lane] += x[lane] * b[i + lane];
  }
  std::memcpy(x.data(), a + 4 * i, static_cast<std::size_t>(4 * (size - i)));
  for (std::int64_t lane = 0; i + lane < size; ++lane) sums[lane] += x[lane] * b[i + lane];
  float sum = 0;
  for (const float lane : sums) sum += lane;
  return sum;
}

float inverse_norm(float square) {
  return square > 0 ? 1 / std::sqrt(square) : 0;
}

/// ‖x‖₂ = 1, as the products of find_nearest need it.
std::vector<float> unit(std::span<const float> x) {
  double square = 0;
  for (const float value : x) square += double{value} * value;
  const double scale = square > 0 ? 1 / std::sqrt(square) : 0;
  std::vector<float> result;
  for (const float value : x) result.push_back(static_cast<float>(value * scale));
  return result;
}

/// Offers the rows of one block to the best of every query.
void search_block(const EmbeddingArray& array, std::int64_t first, std::int64_t count,
                  std::span<const std::vector<float>> queries, std::span<Nearest> best) {
  const std::int64_t D = array.width();
  const std::span<const std::byte> rows = array.bytes(first, count);
  std::vector<float> x(static_cast<std::size_t>(D));
  for (std::int64_t row = 0; row < count; ++row) {
    const std::byte* const bytes = rows.data() + 4 * row * D;
    std::memcpy(x.data(), bytes, static_cast<std::size_t>(4 * D));
    const float square = dot(bytes, x.data(), D);
    if (!std::isfinite(square)) {
      refuse(array.path(), fmt::format("row {} has NaN, infinity or numbers too large for a length: no "
                                       "similarity can be computed",
                                       first + row));
    }
    const float scale = inverse_norm(square);
    for (std::size_t q = 0; q < queries.size(); ++q)
      best[q].offer({first + row, scale * dot(bytes, queries[q].data(), D)});
  }
  array.release(rows);
}

}  // namespace

EmbeddingArray::EmbeddingArray(const std::filesystem::path& path)
    : file_(path, FileErrors::all(ErrorCode::tensor_invalid)) {
  const bool npy = as_text(file_.bytes()).starts_with("\x93NUMPY");
  const std::string_view kind = npy ? "array" : "tensor";
  const StoredTensor tensor = npy ? read_npy(file_) : read_safetensors(file_);
  if (tensor.dtype != "F32")
    refuse(path, fmt::format("its {} is of {}, expected F32 (float32)", kind, tensor.dtype));
  if (tensor.shape.size() == 3) {
    refuse(path, fmt::format("its {} is {}, the patches of each picture; expected one vector for each, [N, "
                             "D]: embed without --patches",
                             kind, to_string(tensor.shape)));
  }
  if (tensor.shape.size() != 2 || tensor.shape[1] < 1)
    refuse(path, fmt::format("its {} is {}, expected [N, D]", kind, to_string(tensor.shape)));
  values_ = tensor.data;
  rows_ = tensor.shape[0];
  width_ = tensor.shape[1];
}

std::span<const std::byte> EmbeddingArray::bytes(std::int64_t first, std::int64_t count) const {
  const std::int64_t row_bytes = 4 * width_;
  return values_.subspan(static_cast<std::size_t>(first * row_bytes),
                         static_cast<std::size_t>(count * row_bytes));
}

std::vector<std::vector<Neighbour>> find_nearest(const EmbeddingArray& array,
                                                 std::span<const std::span<const float>> queries,
                                                 std::int64_t k, int threads) {
  std::vector<std::vector<float>> units;
  for (const std::span<const float> query : queries) units.push_back(unit(query));
  const auto most = static_cast<std::size_t>(std::clamp<std::int64_t>(k, 0, array.rows()));
  std::vector<Nearest> best(queries.size(), Nearest(most));
  if (most == 0) return std::vector<std::vector<Neighbour>>(queries.size());

  const std::int64_t block_rows = std::max<std::int64_t>(1, kBlockBytes / (4 * array.width()));
  const std::int64_t blocks = (array.rows() + block_rows - 1) / block_rows;
  std::mutex mutex;  // guards best
  parallel_for(blocks, threads, [&](std::int64_t block) {
    const std::int64_t first = block * block_rows;
    std::vector<Nearest> of_block(queries.size(), Nearest(most));
    search_block(array, first, std::min(block_rows, array.rows() - first), units, of_block);
    const std::lock_guard lock(mutex);
    for (std::size_t q = 0; q < best.size(); ++q)
      for (const Neighbour& neighbour : of_block[q].unsorted()) best[q].offer(neighbour);
  });
  std::vector<std::vector<Neighbour>> results;
  for (Nearest& of_query : best) results.push_back(std::move(of_query).sorted());
  return results;
}

double cosine_similarity(std::span<const float> q, std::span<const float> x) {
  double product = 0;
  double q_square = 0;
  double x_square = 0;
  for (std::size_t i = 0; i < q.size(); ++i) {
    product += double{q[i]} * x[i];
    q_square += double{q[i]} * q[i];
    x_square += double{x[i]} * x[i];
  }
  return product == 0 ? 0 : product / std::sqrt(q_square * x_square);
}

}  // namespace vit::io
