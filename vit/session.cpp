#include "vit/session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "vit/attention_pool.hpp"
#include "vit/attention_positions.hpp"
#include "vit/backend/context.hpp"
#include "vit/backend/patch_convolution.hpp"
#include "vit/encoder.hpp"
#include "vit/error.hpp"
#include "vit/head.hpp"
#include "vit/packed_model.hpp"
#include "vit/pooling.hpp"
#include "vit/position_embed.hpp"
#include "vit/token_counts.hpp"
#include "vit/workspace.hpp"

namespace vit {
namespace {

constexpr std::int64_t kMaxBatch = 1 << 16;
constexpr int kMaxThreads = 1024;
constexpr double kMaxFloats = 0x1p40;  // of a workspace: 4 TiB, beyond any machine that runs this

/// Roughly: the large buffers alone. In floating point, where nothing overflows.
double workspace_floats(const SessionOptions& options, const ModelConfig& config) {
  const auto B = static_cast<double>(options.batch);
  const auto T = static_cast<double>(config.num_tokens(options.image_size));
  const double mlps = config.mlp == Mlp::gated ? 2 : 1;
  const double token = (config.block == BlockForm::twin || options.merge > 0 ? 7 : 6) *
                           static_cast<double>(config.hidden_size) +
                       mlps * static_cast<double>(config.mlp_size);
  const double maps = options.attention_maps ? static_cast<double>(config.num_heads) * T : 0;
  return B * T * (token + maps);
}

SessionOptions resolved(SessionOptions options, const ModelConfig& config) {
  if (options.image_size == Size2{}) options.image_size = config.image_size;
  if (options.batch < 1 || options.batch > kMaxBatch) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("a batch of {} is not possible, expected 1 to {}", options.batch, kMaxBatch));
  }
  if (options.threads < 0 || options.threads > kMaxThreads) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{} threads are not possible, expected 1 to {}, or 0 for all cores",
                            options.threads, kMaxThreads));
  }
  config.validate_image(options.image_size);
  validate_merge(config, options.merge);
  if (options.merge > 0 && options.attention_maps) {
    throw Error(
        ErrorCode::invalid_argument,
        "attention maps cannot be kept where tokens are merged: behind the first block they are of tokens "
        "that stand for several patches");
  }
  if (const double floats = workspace_floats(options, config); floats > kMaxFloats) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("a batch of {} images of {}x{} pixels{} needs {:.3g} GiB", options.batch,
                            options.image_size.height, options.image_size.width,
                            options.attention_maps ? " with attention maps" : "", floats * 4 / 0x1p30));
  }
  if (options.threads == 0) options.threads = available_threads();
  return options;
}

}  // namespace

int available_threads() {
  return backend::available_threads();
}

struct Session::Impl {
  /// `resolved_options` have no zeros left.
  Impl(std::shared_ptr<const Model> shared, const SessionOptions& resolved_options);

  void forward(const float* pixel_values, Observer* observer);
  void set_outputs();
  /// The norm over each patch, of every image; `first` is the first one's.
  void normalise_patches(float* first);
  void observe(Observer* observer, Stage stage, const ConstTensorView& tensor) const {
    if (observer != nullptr) observer->on_stage(stage, -1, tensor);
  }

  std::shared_ptr<const Model> model;
  SessionOptions options;
  backend::Context context;
  std::vector<std::int64_t> tokens;  // in front of each block and behind the last
  Shape input_shape;
  BlockTypes types;
  Workspace workspace;
  Tensor positions;  // [T, D] for this image size
  backend::PatchConvolution patch_embed;
  AttentionPositions attention_positions;
  Encoder encoder;
  backend::Norm norm;  // the final one
  std::optional<backend::Norm> norm_pre;
  std::optional<backend::Norm> embed_norm;
  std::optional<AttentionPool> attention_pool;
  std::optional<backend::Norm> pooled_norm;
  std::optional<backend::Linear> pooler;
  std::optional<Head> head;
  Outputs outputs;
};

Session::Impl::Impl(std::shared_ptr<const Model> shared, const SessionOptions& resolved_options)
    : model(std::move(shared)),
      options(resolved_options),
      tokens(token_counts(model->config(), options.image_size, options.merge)),
      input_shape{options.batch, model->config().num_channels, options.image_size.height,
                  options.image_size.width},
      types(model->config(), model->precision()),
      workspace(model->config(), types,
                {options.batch, tokens[0], tokens[0] - tokens[1], options.attention_maps}),
      positions(position_table(model->config(), model->packed().pos_embed, options.image_size)),
      patch_embed(context, model->config(), model->packed().patch_embed, options.batch, options.image_size,
                  tokens[0]),
      attention_positions(model->config(), model->packed(), options.image_size),
      encoder(model->config(), model->packed().blocks.front(), attention_positions,
              {options.batch, tokens, types}),
      norm(context, {options.batch * tokens.back(), model->config().hidden_size},
           backend::NormFormula(model->config())) {
  const ModelConfig& config = model->config();
  const Model::Packed& packed = model->packed();
  const std::int64_t B = options.batch;
  workspace.profile = options.profile;
  if (packed.attn_pool) attention_pool.emplace(context, config, *packed.attn_pool, B, tokens.back());
  if (packed.norm_pre)
    norm_pre.emplace(context, backend::Rows{B * tokens[0], config.hidden_size}, backend::NormFormula(config));
  if (config.final_norm == FinalNorm::after_pooling)
    pooled_norm.emplace(context, backend::Rows{B, config.hidden_size}, backend::NormFormula(config));
  if (packed.embed_norm)
    embed_norm.emplace(context, backend::Rows{config.num_patches(options.image_size), config.hidden_size},
                       backend::NormFormula(config));
  if (packed.pooler)
    pooler.emplace(context, B, *packed.pooler, backend::Epilogue{.activation = config.pooler_activation});
  if (packed.head) head.emplace(context, packed, B);
  set_outputs();
}

void Session::Impl::set_outputs() {
  const ModelConfig& config = model->config();
  const std::int64_t B = options.batch;
  outputs.last_hidden_state = workspace.hidden_view;  // again behind every pass
  outputs.features = {workspace.pooled.data(), {B, config.feature_size()}};
  if (pooler && !head) outputs.features = {workspace.pooler_output.data(), {B, config.pooler_size}};
  if (head) outputs.logits = {workspace.logits.data(), {B, config.num_classes}};
  if (config.distillation != Distillation::head) return;
  outputs.distillation_features = {workspace.distilled.data(), {B, config.hidden_size}};
  outputs.cls_logits = {workspace.cls_logits.data(), {B, config.num_classes}};
  outputs.distillation_logits = {workspace.distillation_logits.data(), {B, config.num_classes}};
}

void Session::Impl::normalise_patches(float* first) {
  const std::int64_t per_image = tokens[0] * model->config().hidden_size;
  for (std::int64_t b = 0; b < options.batch; ++b) {
    float* const patches = first + b * per_image;
    embed_norm->run(patches, *model->packed().embed_norm, patches);
  }
}

void Session::Impl::forward(const float* pixel_values, Observer* observer) {
  const ModelConfig& config = model->config();
  const Model::Packed& weights = model->packed();
  workspace.take_all_tokens();
  float* x = workspace.hidden_states.data;                 // [B, T, D]
  float* const pooled = workspace.pooled.data();           // [B, feature size]
  const std::int64_t first_patch = weights.prefix.size();  // floats in front of it
  Profile* const profile = workspace.profile;

  if (profile != nullptr) profile->start();
  patch_embed.run(pixel_values, weights.patch_embed, x + first_patch);  // x[:, P:] = conv(pixel_values)
  lap(profile, LayerKind::patch_embed);
  if (embed_norm) normalise_patches(x + first_patch);  // x[:, P:] = Norm(x[:, P:])
  lap(profile, LayerKind::norm);
  add_positions(weights.prefix, positions, workspace.hidden_states);  // x[:, :P] = prefix; x = x + positions
  lap(profile, LayerKind::other);
  if (norm_pre) norm_pre->run(x, *weights.norm_pre, x);  // x = Norm(x)
  lap(profile, LayerKind::norm);
  observe(observer, Stage::embeddings, workspace.hidden_view);

  encoder.forward(weights, workspace, observer);
  x = workspace.hidden_states.data;
  outputs.last_hidden_state = workspace.hidden_view;
  const ConstTensorView& states = outputs.last_hidden_state;  // [B, T, D], x itself

  if (config.final_norm == FinalNorm::before_pooling) norm.run(x, *weights.norm, x);  // states = Norm(x)
  lap(profile, LayerKind::norm);
  observe(observer, Stage::last_hidden_state, states);

  if (attention_pool) {
    attention_pool->forward(states.data, *weights.attn_pool, workspace);
  } else {
    pool(config, {states, workspace.sizes()}, workspace.pooled);  // class token, mean of the patches, or both
  }
  if (pooled_norm) pooled_norm->run(pooled, *weights.norm, pooled);  // features = Norm(pooled)
  if (pooler) pooler->run(pooled, *weights.pooler, workspace.pooler_output.data());
  observe(observer, Stage::features, outputs.features);

  if (head) {
    if (weights.head_dist) take_token(states, 1, workspace.distilled);
    head->forward(weights, workspace);
    observe(observer, Stage::logits, outputs.logits);
  }
  lap(profile, LayerKind::head);
}

Session::Session(std::shared_ptr<const Model> model, const SessionOptions& options) {
  if (model == nullptr) throw Error(ErrorCode::invalid_argument, "a Session needs a Model, got null");
  const SessionOptions all = resolved(options, model->config());
  const backend::ThreadScope threads(all.threads);
  impl_ = std::make_unique<Impl>(std::move(model), all);
}

Session::~Session() = default;
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;

const Outputs& Session::forward(const ConstTensorView& pixel_values, Observer* observer) {
  if (pixel_values.shape != impl_->input_shape) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("pixel_values are {}, expected {}", to_string(pixel_values.shape),
                            to_string(impl_->input_shape)));
  }
  if (pixel_values.data == nullptr) {
    throw Error(ErrorCode::invalid_argument, "pixel_values have no data");
  }
  const backend::ThreadScope threads(impl_->options.threads);
  impl_->forward(pixel_values.data, observer);
  return impl_->outputs;
}

const SessionOptions& Session::options() const {
  return impl_->options;
}

std::vector<std::string> Session::kernels() const {
  std::vector<std::string> all{"patch_embed  " + impl_->patch_embed.kernel()};
  for (std::string& line : impl_->encoder.kernels()) all.push_back(std::move(line));
  all.push_back("norm  " + impl_->norm.kernel());
  if (impl_->attention_pool) {
    for (std::string& line : impl_->attention_pool->kernels()) all.push_back(std::move(line));
  }
  if (impl_->pooler) all.push_back("pooler  " + impl_->pooler->kernel());
  if (impl_->head) all.push_back("head  " + impl_->head->kernel());
  return all;
}

}  // namespace vit
