#include "vit/profile.hpp"

#include <numeric>

namespace vit {

std::string_view to_string(LayerKind kind) {
  switch (kind) {
    case LayerKind::patch_embed:
      return "patch_embed";
    case LayerKind::norm:
      return "norm";
    case LayerKind::attn_qkv:
      return "attn.qkv";
    case LayerKind::attn:
      return "attn";
    case LayerKind::attn_proj:
      return "attn.proj";
    case LayerKind::mlp_fc1:
      return "mlp.fc1";
    case LayerKind::mlp_fc2:
      return "mlp.fc2";
    case LayerKind::head:
      return "head";
    case LayerKind::other:
      return "other";
  }
  return "?";
}

double Profile::total_seconds() const {
  return std::accumulate(seconds_.begin(), seconds_.end(), 0.0);
}

}  // namespace vit
