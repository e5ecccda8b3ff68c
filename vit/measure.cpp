#include "vit/measure.hpp"

#include "vit/backend/context.hpp"
#include "vit/backend/linear.hpp"
#include "vit/session.hpp"

namespace vit {
namespace {

constexpr std::int64_t kPeakSize = 2048;

/// An all-ones [rows, columns] matrix as weights; `values` keeps the memory.
WeightView ones(Tensor& values, Shape shape) {
  values = Tensor(shape);
  for (float& value : values.elements()) value = 1.0F;
  return {std::move(shape), {{reinterpret_cast<const std::byte*>(values.data()), DType::f32, values.size()}}};
}

}  // namespace

double forward_flops(const ModelConfig& config, Size2 image) {
  const auto number = [](std::int64_t value) { return static_cast<double>(value); };
  const double D = number(config.hidden_size);
  const double F = number(config.mlp_size);
  const double T = number(config.num_tokens(image));
  const double patch = number(config.num_channels * config.patch_size.height * config.patch_size.width);
  const double embedding = number(config.num_patches(image)) * patch * D;
  const double block = T * D * 3 * D + 2 * T * T * D + T * D * D + 2 * T * D * F;
  const double blocks = config.block == BlockForm::twin ? 2 * block : block;
  const double heads = D * number(config.pooler_size) +
                       number(config.feature_size() * config.pre_logits_size) +
                       number(config.head_input_size() * config.num_classes);
  return 2 * (embedding + number(config.num_layers) * blocks + heads);
}

struct PeakGemm::Impl {
  explicit Impl(int threads_wanted)
      : threads(threads_wanted > 0 ? threads_wanted : available_threads()),
        scope(std::make_unique<backend::ThreadScope>(threads)),
        packed({ones(values, {kPeakSize, kPeakSize}), {}}, kPeakSize),
        linear(context, kPeakSize, packed),
        src({kPeakSize, kPeakSize}),
        dst({kPeakSize, kPeakSize}) {
    for (float& value : src.elements()) value = 1.0F;
    values = Tensor();
    scope.reset();
  }

  int threads;
  std::unique_ptr<backend::ThreadScope> scope;  // while the kernels are built
  Tensor values;
  backend::Context context;
  backend::PackedLinear packed;
  backend::Linear linear;
  Tensor src;
  Tensor dst;
};

PeakGemm::PeakGemm(int threads) : impl_(std::make_unique<Impl>(threads)) {}
PeakGemm::~PeakGemm() = default;

void PeakGemm::run() {
  const backend::ThreadScope threads(impl_->threads);
  impl_->linear.run(impl_->src.data(), impl_->packed, impl_->dst.data());
}

double PeakGemm::flops() const {
  return 2.0 * kPeakSize * kPeakSize * kPeakSize;
}

}  // namespace vit
