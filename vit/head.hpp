// The linear classifier, a layer in front of it where there is one, and DeiT's pair of classifiers. Internal
// to vit/.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "vit/backend/linear.hpp"
#include "vit/packed_model.hpp"
#include "vit/workspace.hpp"

namespace vit {

class Head {
 public:
  Head(backend::Context& context, const Model::Packed& like, std::int64_t batch);

  /// workspace.pooled [B, feature size] -> workspace.logits [B, K]. With a distillation head also
  /// workspace.distilled [B, D]; both heads' logits are kept, and logits are their mean.
  void forward(const Model::Packed& weights, Workspace& workspace);

  const std::string& kernel() const { return linear_.kernel(); }

 private:
  std::optional<backend::Linear> pre_logits_;
  backend::Linear linear_;
};

}  // namespace vit
