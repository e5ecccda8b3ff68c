// The linear classifier, and DeiT's pair of them. Internal to vit/.
#pragma once

#include <cstdint>
#include <string>

#include "vit/backend/linear.hpp"
#include "vit/packed_model.hpp"
#include "vit/workspace.hpp"

namespace vit {

class Head {
 public:
  Head(backend::Context& context, const backend::PackedLinear& like, std::int64_t batch)
      : linear_(context, batch, like) {}

  /// workspace.pooled [B, feature size] -> workspace.logits [B, K]. With a distillation head also
  /// workspace.distilled [B, D]; both heads' logits are kept, and logits are their mean.
  void forward(const Model::Packed& weights, Workspace& workspace);

  const std::string& kernel() const { return linear_.kernel(); }

 private:
  backend::Linear linear_;
};

}  // namespace vit
