#include "vit/measure.hpp"

#include <optional>
#include <vector>

#include "vit/backend/context.hpp"
#include "vit/backend/square_matmul.hpp"
#include "vit/session.hpp"
#include "vit/token_counts.hpp"

namespace vit {
namespace {

constexpr std::int64_t kPeakSize = 2048;

double number(std::int64_t value) {
  return static_cast<double>(value);
}

/// Multiply-adds behind the tokens.
double head_products(const ModelConfig& config, double T) {
  const double D = number(config.hidden_size);
  double products = D * number(config.pooler_size) + number(config.feature_size() * config.pre_logits_size) +
                    number(config.head_input_size() * config.num_classes);
  if (config.distillation == Distillation::head) products += D * number(config.num_classes);
  if (config.pooling == Pooling::attention) {
    const double pooled = T - number(config.num_unpooled_tokens());
    products += T * D * 2 * D + 2 * pooled * D + D * D + 2 * D * number(config.pool_mlp_size());
  }
  return products;
}

/// Multiply-adds of all layers of that kind.
double products(const ModelConfig& config, Size2 image, LayerKind kind, std::int64_t merge) {
  const double D = number(config.hidden_size);
  const double F = number(config.mlp_size);
  const double halves = config.block == BlockForm::twin ? 2 : 1;  // of each kind in a block
  const std::vector<std::int64_t> counts = token_counts(config, image, merge);
  double attended = 0;  // tokens of all blocks
  double scores = 0;
  double expanded = 0;
  for (std::size_t i = 0; i + 1 < counts.size(); ++i) {
    const double T = number(counts[i]);
    attended += halves * T;
    scores += halves * T * T;
    expanded += halves * number(counts[i + 1]);
  }
  switch (kind) {
    case LayerKind::patch_embed:
      return number(config.num_patches(image) * config.num_channels * config.patch_size.height *
                    config.patch_size.width) *
             D;
    case LayerKind::attn_qkv:
      return attended * D * 3 * D;
    case LayerKind::attn:
      return 2 * scores * D;
    case LayerKind::attn_proj:
      return attended * D * D;
    case LayerKind::mlp_fc1:
      return expanded * D * F * (config.mlp == Mlp::gated ? 2 : 1);
    case LayerKind::mlp_fc2:
      return expanded * D * F;
    case LayerKind::head:
      return head_products(config, number(counts.back()));
    case LayerKind::norm:
    case LayerKind::other:
      return 0;
  }
  return 0;
}

}  // namespace

double forward_flops(const ModelConfig& config, Size2 image, LayerKind kind, std::int64_t merge) {
  return 2 * products(config, image, kind, merge);
}

double forward_flops(const ModelConfig& config, Size2 image, std::int64_t merge) {
  double flops = 0;
  for (const LayerKind kind : kAllLayerKinds) flops += forward_flops(config, image, kind, merge);
  return flops;
}

struct PeakGemm::Impl {
  Impl(int threads_wanted, Precision precision)
      : threads(threads_wanted > 0 ? threads_wanted : available_threads()) {
    const backend::ThreadScope scope(threads);
    matmul.emplace(context, precision, kPeakSize);
  }

  int threads;
  backend::Context context;
  std::optional<backend::SquareMatmul> matmul;  // built in a ThreadScope
};

PeakGemm::PeakGemm(int threads, Precision precision) : impl_(std::make_unique<Impl>(threads, precision)) {}
PeakGemm::~PeakGemm() = default;

void PeakGemm::run() {
  const backend::ThreadScope threads(impl_->threads);
  impl_->matmul->run();
}

double PeakGemm::flops() const {
  return 2.0 * kPeakSize * kPeakSize * kPeakSize;
}

const std::string& PeakGemm::kernel() const {
  return impl_->matmul->kernel();
}

}  // namespace vit
