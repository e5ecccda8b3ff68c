#include "io/embedder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "vit/token_counts.hpp"

namespace vit::io {
namespace {

void validate(const ModelConfig& config, const EmbeddingOptions& options) {
  if (options.pool == EmbeddingPool::cls && !config.class_token)
    throw Error(ErrorCode::invalid_argument, "pooling cls: this model has no class token");
  validate_merge(config, options.merge);
  if (options.merge > 0 && options.pool != EmbeddingPool::features) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("pooling {}: merged tokens stand for several patches; only the model's own "
                            "features take that into account",
                            to_string(options.pool)));
  }
}

/// The sum in double precision, whatever the number of patches: [rows, D] -> [D].
void mean_of_rows(const float* rows, std::int64_t count, std::span<float> mean) {
  std::vector<double> sums(mean.size());
  for (std::int64_t row = 0; row < count; ++row) {
    for (double& sum : sums) sum += *rows++;
  }
  std::transform(sums.begin(), sums.end(), mean.begin(),
                 [&](double sum) { return static_cast<float>(sum / static_cast<double>(count)); });
}

/// x / max(‖x‖₂, 1e-12)
void normalize(std::span<float> x) {
  double square = 0;
  for (const float value : x) square += double{value} * value;
  const double norm = std::max(std::sqrt(square), 1e-12);
  for (float& value : x) value = static_cast<float>(value / norm);
}

/// Ramps of red and green, of the model's size, and squares of blue: edges for the patches, and no symmetry.
Image test_picture(Size2 size) {
  constexpr std::int64_t kMost = 1024;
  constexpr std::int64_t kSquare = 12;
  Image image{std::min(size.height, kMost), std::min(size.width, kMost), {}};
  for (std::int64_t y = 0; y < image.height; ++y) {
    for (std::int64_t x = 0; x < image.width; ++x) {
      const bool blue = (y / kSquare + x / kSquare) % 2 == 0;
      for (const std::int64_t value : {255 * x / image.width, 255 * y / image.height, blue ? 200L : 40L})
        image.pixels.push_back(static_cast<std::uint8_t>(value));
    }
  }
  return image;
}

}  // namespace

std::string_view to_string(EmbeddingPool pool) {
  switch (pool) {
    case EmbeddingPool::features:
      return "features";
    case EmbeddingPool::cls:
      return "cls";
    case EmbeddingPool::mean:
      return "mean";
    case EmbeddingPool::patches:
      return "patches";
  }
  return "?";
}

EmbeddingSession::EmbeddingSession(std::shared_ptr<const PictureModel> model, const EmbeddingOptions& options,
                                   BusyClock* network)
    : model_(std::move(model)), options_(options), pictures_(model_, {network, options.merge}) {
  validate(model_->info().config, options_);
}

std::vector<Embedding> EmbeddingSession::embed(std::vector<Input> inputs, int threads) {
  std::vector<Embedding> embeddings(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    embeddings[i].input = inputs[i].name;
    embeddings[i].frame = inputs[i].frame;
  }
  std::vector<PictureResult> results =
      pictures_.run(std::move(inputs), threads, [&](std::size_t i, const Outputs& outputs, std::int64_t b) {
        embeddings[i].values = take(outputs, b);
      });
  for (std::size_t i = 0; i < embeddings.size(); ++i) embeddings[i].error = std::move(results[i].error);
  return embeddings;
}

Tensor EmbeddingSession::take(const Outputs& outputs, std::int64_t b) const {
  const std::int64_t F = outputs.features.shape[1];
  const std::int64_t T = outputs.last_hidden_state.shape[1];
  const std::int64_t D = outputs.last_hidden_state.shape[2];
  const std::int64_t prefix = model_->info().config.num_prefix_tokens();
  const float* const tokens = outputs.last_hidden_state.data + b * T * D;
  const float* const patches = tokens + prefix * D;
  Tensor values(options_.pool == EmbeddingPool::features  ? Shape{F}
                : options_.pool == EmbeddingPool::patches ? Shape{T - prefix, D}
                                                          : Shape{D});
  switch (options_.pool) {
    case EmbeddingPool::features:
      std::copy_n(outputs.features.data + b * F, F, values.data());
      break;
    case EmbeddingPool::cls:
      std::copy_n(tokens, D, values.data());
      break;
    case EmbeddingPool::mean:
      mean_of_rows(patches, T - prefix, values.elements());
      break;
    case EmbeddingPool::patches:
      std::copy_n(patches, values.size(), values.data());
      break;
  }
  const std::span<float> all = values.elements();
  if (!std::all_of(all.begin(), all.end(), [](float x) { return std::isfinite(x); }))
    throw Error(ErrorCode::not_finite, "the network gives NaN or infinity for it");
  const auto width = static_cast<std::size_t>(values.shape().back());
  for (std::size_t at = 0; options_.normalize && at < all.size(); at += width)
    normalize(all.subspan(at, width));
  return values;
}

std::vector<float> embed_test_picture(const std::shared_ptr<const PictureModel>& model,
                                      const EmbeddingOptions& options, int threads) {
  std::vector<Input> inputs;
  inputs.push_back({.name = "the test picture", .image = test_picture(model->info().config.image_size)});
  const std::vector<Embedding> embeddings =
      EmbeddingSession(model, options).embed(std::move(inputs), threads);
  const Embedding& embedding = embeddings.front();
  if (embedding.error) throw *embedding.error;
  return {embedding.values.elements().begin(), embedding.values.elements().end()};
}

BulkTimes embed_pictures(const std::shared_ptr<const PictureModel>& model, const EmbeddingOptions& options,
                         InputSequence& inputs, const BulkLimits& limits,
                         const std::function<void(Embedding)>& sink) {
  validate(model->info().config, options);
  const auto make_worker = [&](BusyClock& network) {
    auto session = std::make_shared<EmbeddingSession>(model, options, &network);
    return BulkWorker<Embedding>{
        [session](std::vector<Input> group, int cores) { return session->embed(std::move(group), cores); },
        [session] { return session->take_times(); }};
  };
  return run_bulk<Embedding>(inputs, limits, make_worker, sink);
}

}  // namespace vit::io
