// Operators that are products of matrices.
#include <algorithm>
#include <utility>

#include "export/matmul.hpp"
#include "export/operators.hpp"

namespace vit::exporter {
namespace {

// ------------------------------------------------------------------------------------------------- MatMul
/// Which matrix of a factor is multiplied for the batch's i-th result.
std::int64_t matrix_of(std::int64_t i, const Shape& factor, const Shape& batch) {
  std::int64_t index = 0;
  std::int64_t stride = 1;
  const std::size_t lead = batch.size() - factor.size();
  for (std::size_t axis = batch.size(); axis-- > 0; i /= batch[axis]) {
    if (axis < lead || factor[axis - lead] == 1) continue;
    index += i % batch[axis] * stride;
    stride *= factor[axis - lead];
  }
  return index;
}

Value multiply(const Arguments& arguments) {
  const Value& a = arguments[0];
  const Value& b = arguments[1];
  const std::size_t a_rank = a.shape().size();
  const std::size_t b_rank = b.shape().size();
  arguments.expect(a_rank >= 2 && b_rank >= 2, "a factor is not a matrix");
  ProductShape sizes;
  sizes.rows = a.shape()[a_rank - 2];
  sizes.depth = sizes.a.row = a.shape().back();
  sizes.cols = sizes.b.row = sizes.c_row = b.shape().back();
  arguments.expect(b.shape()[b_rank - 2] == sizes.depth, "the factors do not fit each other");

  const Shape a_batch(a.shape().begin(), a.shape().end() - 2);
  const Shape b_batch(b.shape().begin(), b.shape().end() - 2);
  const Shape batch = arguments.broadcast(a_batch, b_batch);
  Shape shape = batch;
  shape.insert(shape.end(), {sizes.rows, sizes.cols});
  Value result = arguments.allocate(ElementType::f32, shape);
  if (result.size() == 0) return result;
  std::vector<Product> products;
  if (element_count(b_batch) == 1) {  // all rows are multiplied by the same matrix
    sizes.rows *= element_count(batch);
    products.push_back({a.f32(), b.f32(), result.f32()});
  } else {
    for (std::int64_t i = 0; i < element_count(batch); ++i) {
      products.push_back({a.f32() + matrix_of(i, a_batch, batch) * sizes.rows * sizes.depth,
                          b.f32() + matrix_of(i, b_batch, batch) * sizes.depth * sizes.cols,
                          result.f32() + i * sizes.rows * sizes.cols});
    }
  }
  matmul(sizes, products, arguments.workers());
  return result;
}

// --------------------------------------------------------------------------------------------------- Gemm
struct GemmOptions {
  bool a_transposed;
  bool b_transposed;
  float alpha;
  float beta;
};

/// result <- alpha result + beta c, where c is repeated along the axes that it does not have.
void scale_and_add(const Arguments& arguments, const GemmOptions& options, Value& result) {
  const std::int64_t cols = result.shape()[1];
  Shape c = arguments.has(2) ? arguments[2].shape() : Shape{};
  arguments.expect(arguments.broadcast(c, result.shape()) == result.shape(), "C does not fit the product");
  c.insert(c.begin(), 2 - c.size(), 1);
  const std::int64_t row_step = c[0] == 1 ? 0 : c[1];
  const std::int64_t col_step = c[1] == 1 ? 0 : 1;
  for (std::int64_t r = 0; r < result.shape()[0]; ++r) {
    float* row = result.f32() + r * cols;
    if (options.alpha != 1) std::for_each(row, row + cols, [&](float& x) { x *= options.alpha; });
    if (!arguments.has(2)) continue;
    const float* from = arguments[2].f32() + r * row_step;
    for (std::int64_t i = 0; i < cols; ++i) row[i] += options.beta * from[i * col_step];
  }
}

Value gemm(const Arguments& arguments, const GemmOptions& options) {
  const Shape& a = arguments[0].shape();
  const Shape& b = arguments[1].shape();
  arguments.expect(a.size() == 2 && b.size() == 2, "a factor is not a matrix");
  ProductShape sizes;
  sizes.rows = a[options.a_transposed ? 1 : 0];
  sizes.depth = a[options.a_transposed ? 0 : 1];
  sizes.cols = sizes.c_row = b[options.b_transposed ? 0 : 1];
  arguments.expect(b[options.b_transposed ? 1 : 0] == sizes.depth, "the factors do not fit each other");
  sizes.a = options.a_transposed ? MatrixStrides{1, a[1]} : MatrixStrides{a[1], 1};
  sizes.b = options.b_transposed ? MatrixStrides{1, b[1]} : MatrixStrides{b[1], 1};
  Value result = arguments.allocate(ElementType::f32, {sizes.rows, sizes.cols});
  const Product product{arguments[0].f32(), arguments[1].f32(), result.f32()};
  matmul(sizes, {&product, 1}, arguments.workers());
  scale_and_add(arguments, options, result);
  return result;
}

}  // namespace

Operator make_matmul(NodeReader& node) {
  node.expect_inputs(2, 2);
  node.expect_types(ElementType::f32);
  return {ElementType::f32,
          [](const Arguments& arguments) -> std::vector<Value> { return {multiply(arguments)}; }};
}

Operator make_gemm(NodeReader& node) {
  node.expect_inputs(2, 3);
  node.expect_types(ElementType::f32);
  const GemmOptions options{.a_transposed = node.flag("transA", false),
                            .b_transposed = node.flag("transB", false),
                            .alpha = node.number("alpha", 1),
                            .beta = node.number("beta", 1)};
  return {ElementType::f32,
          [options](const Arguments& arguments) -> std::vector<Value> { return {gemm(arguments, options)}; }};
}

}  // namespace vit::exporter
