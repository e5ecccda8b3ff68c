// Attention of opset 23: softmax(scale · Q Kᵀ + mask) V for each head.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "export/matmul.hpp"
#include "export/operators.hpp"

namespace vit::exporter {
namespace {

struct AttentionOptions {
  std::int64_t query_heads;  ///< 0: the inputs have an axis for the heads
  std::int64_t key_heads;
  float scale;  ///< 0: 1 / √(head size)
};

/// One of the three inputs, [B, T, h d] or [B, h, T, d].
struct Heads {
  const float* data = nullptr;
  std::int64_t batch = 0;
  std::int64_t heads = 0;
  std::int64_t tokens = 0;
  std::int64_t size = 0;  ///< of a head
  std::int64_t head_step = 0;
  std::int64_t token_step = 0;

  const float* at(std::int64_t b, std::int64_t head) const {
    return data + b * heads * tokens * size + head * head_step;
  }
};

Heads heads_of(const Arguments& arguments, std::size_t input, std::int64_t count) {
  const Value& value = arguments[input];
  const Shape& shape = value.shape();
  arguments.expect(shape.size() == (count == 0 ? 4 : 3),
                   "inputs of three axes need the numbers of heads, of four do not have them");
  if (count == 0) {
    return {value.f32(), shape[0], shape[1], shape[2], shape[3], shape[2] * shape[3], shape[3]};
  }
  arguments.expect(shape[2] % count == 0, "the width is not a multiple of the heads");
  const std::int64_t size = shape[2] / count;
  return {value.f32(), shape[0], count, shape[1], size, size, shape[2]};
}

/// The input that is added to the scores, repeated along the axes that it does not have.
struct Mask {
  const float* data = nullptr;
  Shape strides = {0, 0, 0, 0};  ///< batch, head, query, key
};

Mask mask_of(const Arguments& arguments, const Shape& scores) {
  Mask mask;
  if (!arguments.has(3)) return mask;
  const Shape& shape = arguments[3].shape();
  arguments.expect(shape.size() <= 4 && arguments.broadcast(shape, scores) == scores,
                   "the mask does not fit the scores");
  mask.data = arguments[3].f32();
  const Shape own = row_major_strides(shape);
  for (std::size_t i = 0; i < shape.size(); ++i) {
    mask.strides[4 - shape.size() + i] = shape[i] == 1 ? 0 : own[i];
  }
  return mask;
}

/// scores <- softmax(scale scores + mask)
void softmax_row(std::span<float> scores, float scale, const float* mask, std::int64_t mask_step) {
  float largest = -std::numeric_limits<float>::infinity();
  for (float& score : scores) {
    score *= scale;
    if (mask != nullptr) score += *mask;
    if (mask != nullptr) mask += mask_step;
    largest = std::max(largest, score);
  }
  double sum = 0;
  for (float& score : scores) {
    score = std::exp(score - largest);
    sum += score;
  }
  const auto factor = static_cast<float>(1 / sum);
  for (float& score : scores) score *= factor;
}

class AttentionRun {
 public:
  AttentionRun(const Arguments& arguments, const AttentionOptions& options)
      : arguments_(arguments),
        q_(heads_of(arguments, 0, options.query_heads)),
        k_(heads_of(arguments, 1, options.key_heads)),
        v_(heads_of(arguments, 2, options.key_heads)) {
    arguments.expect(q_.batch == k_.batch && q_.batch == v_.batch, "the batches differ");
    arguments.expect(q_.size == k_.size, "queries and keys have heads of different sizes");
    arguments.expect(k_.heads == v_.heads && k_.tokens == v_.tokens, "keys and values do not fit each other");
    arguments.expect(k_.heads > 0 && q_.heads % k_.heads == 0,
                     "the queries' heads are no multiple of the keys'");
    const bool split_heads = options.query_heads == 0;
    shape_ = split_heads ? Shape{q_.batch, q_.heads, q_.tokens, v_.size}
                         : Shape{q_.batch, q_.tokens, q_.heads * v_.size};
    head_step_ = split_heads ? q_.tokens * v_.size : v_.size;
    token_step_ = split_heads ? v_.size : q_.heads * v_.size;
    mask_ = mask_of(arguments, {q_.batch, q_.heads, q_.tokens, k_.tokens});
    scale_ = options.scale != 0 ? options.scale : 1 / std::sqrt(static_cast<float>(q_.size));
  }

  Value compute() const {
    Value result = arguments_.allocate(ElementType::f32, shape_);
    Value scores = arguments_.allocate(ElementType::f32, {q_.heads, q_.tokens, k_.tokens});
    if (result.size() == 0) return result;
    for (std::int64_t b = 0; b < q_.batch; ++b) {
      score(b, scores);
      normalize(b, scores);
      weigh(b, scores, result);
    }
    return result;
  }

 private:
  std::int64_t key_head(std::int64_t head) const { return head / (q_.heads / k_.heads); }
  std::int64_t scores_size() const { return q_.tokens * k_.tokens; }

  /// scores [h, T, T'] <- q [h, T, d] kᵀ [h, d, T']
  void score(std::int64_t b, Value& scores) const {
    const ProductShape sizes{q_.tokens,          q_.size,  k_.tokens, {q_.token_step, 1},
                             {1, k_.token_step}, k_.tokens};
    std::vector<Product> products;
    for (std::int64_t h = 0; h < q_.heads; ++h) {
      products.push_back({q_.at(b, h), k_.at(b, key_head(h)), scores.f32() + h * scores_size()});
    }
    matmul(sizes, products, arguments_.workers());
  }

  void normalize(std::int64_t b, Value& scores) const {
    arguments_.workers().for_parts(q_.heads * q_.tokens, 16, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const float* mask = mask_.data;
        if (mask != nullptr) {
          mask += b * mask_.strides[0] + i / q_.tokens * mask_.strides[1] + i % q_.tokens * mask_.strides[2];
        }
        softmax_row({scores.f32() + i * k_.tokens, static_cast<std::size_t>(k_.tokens)}, scale_, mask,
                    mask_.strides[3]);
      }
    });
  }

  /// result's head [T, d] <- scores [h, T, T'] v [h, T', d]
  void weigh(std::int64_t b, const Value& scores, Value& result) const {
    const ProductShape sizes{q_.tokens, k_.tokens, v_.size, {k_.tokens, 1}, {v_.token_step, 1}, token_step_};
    float* to = result.f32() + b * q_.heads * q_.tokens * v_.size;
    std::vector<Product> products;
    for (std::int64_t h = 0; h < q_.heads; ++h) {
      products.push_back({scores.f32() + h * scores_size(), v_.at(b, key_head(h)), to + h * head_step_});
    }
    matmul(sizes, products, arguments_.workers());
  }

  const Arguments& arguments_;
  Heads q_;
  Heads k_;
  Heads v_;
  Mask mask_;
  Shape shape_;  // of the result
  std::int64_t head_step_ = 0;
  std::int64_t token_step_ = 0;
  float scale_ = 1;
};

}  // namespace

Operator make_attention(NodeReader& node) {
  node.expect_inputs(3, 4);  // no past keys and values
  node.expect_types(ElementType::f32);
  AttentionOptions options{};
  options.query_heads = node.integer("q_num_heads", 0);
  if (options.query_heads < 0) node.refuse_attribute("q_num_heads");
  options.key_heads = node.integer("kv_num_heads", 0);
  if (options.key_heads < 0 || (options.key_heads == 0) != (options.query_heads == 0)) {
    node.refuse_attribute("kv_num_heads");
  }
  options.scale = node.number("scale", 0);
  if (!std::isfinite(options.scale)) node.refuse_attribute("scale");
  node.expect_integer("is_causal", 0);
  node.expect_integer("qk_matmul_output_mode", 0);
  node.expect_integer("softmax_precision", 1);  // float32
  if (node.number("softcap", 0) != 0) node.refuse_attribute("softcap");
  return {ElementType::f32, [options](const Arguments& arguments) -> std::vector<Value> {
            return {AttentionRun(arguments, options).compute()};
          }};
}

}  // namespace vit::exporter
