#include "io/attention_maps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "vit/error.hpp"

namespace vit::io {
namespace {

/// The weight of each token as a query of the maps.
std::vector<double> query_weights(const AttentionTokens& tokens) {
  std::vector<double> weights(static_cast<std::size_t>(tokens.count()));
  if (tokens.class_token) {
    weights.front() = 1;
  } else {
    std::fill(weights.begin() + tokens.prefix, weights.end(), 1.0 / static_cast<double>(tokens.patches()));
  }
  return weights;
}

/// sums += weight * row
void add_row(double weight, const float* row, std::vector<double>& sums) {
  for (double& sum : sums) sum += weight * static_cast<double>(*row++);
}

/// weights · matrix, [T] and [T, T].
std::vector<double> times(const std::vector<double>& weights, const float* matrix) {
  std::vector<double> sums(weights.size());
  for (const double weight : weights) {
    if (weight != 0) add_row(weight, matrix, sums);
    matrix += weights.size();
  }
  return sums;
}

/// What belongs to patches.
void copy_patches(const std::vector<double>& weights, const AttentionTokens& tokens, float* map) {
  std::transform(weights.begin() + tokens.prefix, weights.end(), map,
                 [](double weight) { return static_cast<float>(weight); });
}

}  // namespace

AttentionTokens attention_tokens(const ModelConfig& config, Size2 image) {
  return {config.num_prefix_tokens(), config.class_token, config.grid(image)};
}

void AttentionRollout::add(const ConstTensorView& attention) {
  const std::int64_t h = attention.shape.front();
  const std::int64_t T = attention.shape.back();
  Tensor mixture({T, T});
  std::vector<double> row(static_cast<std::size_t>(T));
  for (std::int64_t t = 0; t < T; ++t) {
    std::fill(row.begin(), row.end(), 0.0);
    for (std::int64_t i = 0; i < h; ++i)
      add_row(0.5 / static_cast<double>(h), attention.data + (i * T + t) * T, row);
    row[static_cast<std::size_t>(t)] += 0.5;
    double sum = 0;
    for (const double value : row) sum += value;
    std::transform(row.begin(), row.end(), mixture.data() + t * T,
                   [&](double value) { return static_cast<float>(value / sum); });
  }
  mixtures_.push_back(std::move(mixture));
}

std::vector<double> AttentionRollout::propagate(std::vector<double> query) const {
  for (auto mixture = mixtures_.rbegin(); mixture != mixtures_.rend(); ++mixture)
    query = times(query, mixture->data());
  return query;
}

ConstTensorView AttentionMaps::head(std::int64_t block, std::int64_t head) const {
  const Shape& shape = heads.shape();  // [L, h, grid height, grid width]
  return {heads.data() + (block * shape[1] + head) * shape[2] * shape[3], {shape[2], shape[3]}};
}

Tensor AttentionMaps::mean(std::int64_t block) const {
  const std::int64_t h = heads.shape()[1];
  Tensor mean({heads.shape()[2], heads.shape()[3]});
  std::vector<double> sums(static_cast<std::size_t>(mean.size()));
  for (std::int64_t i = 0; i < h; ++i) add_row(1.0 / static_cast<double>(h), head(block, i).data, sums);
  std::transform(sums.begin(), sums.end(), mean.data(), [](double sum) { return static_cast<float>(sum); });
  return mean;
}

AttentionRecorder::AttentionRecorder(const ModelConfig& config, Size2 image, Rollout rollout)
    : tokens_(attention_tokens(config, image)) {
  maps_.heads = Tensor({config.num_layers, config.num_heads, tokens_.grid.height, tokens_.grid.width});
  maps_.class_token = tokens_.class_token;
  if (rollout == Rollout::yes) rollout_.emplace();
}

void AttentionRecorder::on_stage(Stage stage, std::int64_t block, const ConstTensorView& tensor) {
  if (stage != Stage::attention_probs) return;
  const std::int64_t L = maps_.heads.shape()[0];
  const std::int64_t h = maps_.heads.shape()[1];
  const std::int64_t T = tokens_.count();
  if (tensor.shape != Shape{1, h, T, T} || block != next_block_ || block >= L) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("attention of block {} is {}, expected {} of block {} of {}", block,
                            to_string(tensor.shape), to_string(Shape{1, h, T, T}), next_block_, L));
  }
  const std::vector<double> query = query_weights(tokens_);
  for (std::int64_t i = 0; i < h; ++i) {
    copy_patches(times(query, tensor.data + i * T * T), tokens_,
                 maps_.heads.data() + (block * h + i) * tokens_.patches());
  }
  if (rollout_) rollout_->add({tensor.data, {h, T, T}});
  ++next_block_;
}

AttentionMaps AttentionRecorder::finish() {
  if (next_block_ != maps_.heads.shape()[0]) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("attention of {} blocks came, expected {}: has the Session attention_maps?",
                            next_block_, maps_.heads.shape()[0]));
  }
  if (rollout_) {
    maps_.rollout = Tensor({tokens_.grid.height, tokens_.grid.width});
    copy_patches(rollout_->propagate(query_weights(tokens_)), tokens_, maps_.rollout.data());
  }
  for (const Tensor* tensor : {&maps_.heads, &maps_.rollout}) {
    const std::span<const float> values = tensor->elements();
    if (!std::all_of(values.begin(), values.end(), [](float x) { return std::isfinite(x); }))
      throw Error(ErrorCode::not_finite, "the network's attention is NaN or infinite");
  }
  return std::move(maps_);
}

}  // namespace vit::io
