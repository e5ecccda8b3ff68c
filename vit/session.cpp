#include "vit/session.hpp"

#include <fmt/format.h>

#include <optional>

#include "vit/backend/context.hpp"
#include "vit/encoder_block.hpp"
#include "vit/error.hpp"
#include "vit/packed_model.hpp"
#include "vit/pooling.hpp"
#include "vit/position_embed.hpp"
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
  const double token = 6 * static_cast<double>(config.hidden_size) + static_cast<double>(config.mlp_size);
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
  void observe(Observer* observer, Stage stage, const ConstTensorView& tensor) const {
    if (observer != nullptr) observer->on_stage(stage, -1, tensor);
  }

  std::shared_ptr<const Model> model;
  SessionOptions options;
  backend::Context context;
  std::int64_t tokens;
  Shape input_shape;
  Workspace workspace;
  Tensor positions;  // [T, D] for this image size
  backend::PatchConvolution patch_embed;
  EncoderBlock block;
  backend::LayerNorm norm;
  std::optional<backend::Linear> pooler;
  std::optional<backend::Linear> head;
  Outputs outputs;
};

Session::Impl::Impl(std::shared_ptr<const Model> shared, const SessionOptions& resolved_options)
    : model(std::move(shared)),
      options(resolved_options),
      tokens(model->config().num_tokens(options.image_size)),
      input_shape{options.batch, model->config().num_channels, options.image_size.height,
                  options.image_size.width},
      workspace(model->config(), options.batch, tokens),
      positions(position_table(model->config(), model->packed().pos_embed, options.image_size)),
      patch_embed(context, model->config(), model->packed().patch_embed, options.batch, options.image_size,
                  tokens),
      block(context, model->config(), model->packed().blocks.front(), options.batch, tokens,
            options.attention_maps),
      norm(context, options.batch * tokens, model->config().hidden_size, model->config().layer_norm_eps) {
  const ModelConfig& config = model->config();
  const Model::Packed& packed = model->packed();
  const std::int64_t B = options.batch;
  workspace.scores = Tensor({options.attention_maps ? B : 1, block.scores_size()});
  workspace.maps_view = {workspace.scores.data(), {B, config.num_heads, tokens, tokens}};
  outputs.last_hidden_state = {workspace.normed.data(), {B, tokens, config.hidden_size}};
  outputs.features = {workspace.pooled.data(), {B, config.feature_size()}};
  if (packed.pooler) {
    pooler.emplace(context, B, *packed.pooler, backend::Epilogue{.activation = config.pooler_activation});
    if (!packed.head) outputs.features = {workspace.pooler_output.data(), {B, config.pooler_size}};
  }
  if (packed.head) {
    head.emplace(context, B, *packed.head);
    outputs.logits = {workspace.logits.data(), {B, config.num_classes}};
  }
}

void Session::Impl::forward(const float* pixel_values, Observer* observer) {
  const Model::Packed& weights = model->packed();
  const std::int64_t D = model->config().hidden_size;
  float* const x = workspace.hidden_states.data();  // [B, T, D]

  patch_embed.run(pixel_values, x + D);  // x[:, 1:] = conv(pixel_values), behind the class token's place
  add_positions(weights.cls_token, positions,
                workspace.hidden_states);  // x[:, 0] = cls; x = x + positions
  observe(observer, Stage::embeddings, workspace.hidden_view);

  for (std::size_t i = 0; i < weights.blocks.size(); ++i) {
    block.forward(weights.blocks[i], static_cast<std::int64_t>(i), workspace, observer);
  }

  norm.run(x, weights.norm, workspace.normed.data());  // last_hidden_state = LayerNorm(x)
  observe(observer, Stage::last_hidden_state, outputs.last_hidden_state);

  pool(model->config(), workspace.normed, workspace.pooled);  // class token, or ⊕ mean of the patches
  if (pooler) pooler->run(workspace.pooled.data(), *weights.pooler, workspace.pooler_output.data());
  observe(observer, Stage::features, outputs.features);

  if (head) {
    head->run(workspace.pooled.data(), *weights.head, workspace.logits.data());  // logits = features Wᵀ + b
    observe(observer, Stage::logits, outputs.logits);
  }
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
  for (std::string& line : impl_->block.kernels()) all.push_back(std::move(line));
  all.push_back("norm  " + impl_->norm.kernel());
  if (impl_->pooler) all.push_back("pooler  " + impl_->pooler->kernel());
  if (impl_->head) all.push_back("head  " + impl_->head->kernel());
  return all;
}

}  // namespace vit
