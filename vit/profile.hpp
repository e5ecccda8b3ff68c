// Where the time of a forward pass goes, by kind of layer.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <string_view>

namespace vit {

enum class LayerKind {
  patch_embed,  ///< the convolution
  norm,         ///< all norms over tokens: those of the blocks, and those before, between and behind
  attn_qkv,
  attn,  ///< scores, softmax and context
  attn_proj,
  mlp_fc1,  ///< with the gate and the activation
  mlp_fc2,
  head,   ///< all that follows the tokens: pooling, pooler, head
  other,  ///< positions, rotations, norms over heads, sums of branches, merging of tokens
};

/// In the order in which a forward pass reaches them.
constexpr std::array kAllLayerKinds{LayerKind::patch_embed, LayerKind::norm,      LayerKind::attn_qkv,
                                    LayerKind::attn,        LayerKind::attn_proj, LayerKind::mlp_fc1,
                                    LayerKind::mlp_fc2,     LayerKind::head,      LayerKind::other};

/// "attn.qkv"
std::string_view to_string(LayerKind kind);

/// Adds up the time of every forward pass of the Session whose options name it. For one Session; allocates
/// nothing.
class Profile {
 public:
  /// A forward pass begins.
  void start() {
    ++passes_;
    last_ = Clock::now();
  }

  /// What has run since the last call, or start(), was `kind`.
  void lap(LayerKind kind) {
    const Clock::time_point now = Clock::now();
    seconds_[static_cast<std::size_t>(kind)] += std::chrono::duration<double>(now - last_).count();
    last_ = now;
  }

  /// Forgets everything.
  void reset() { *this = Profile(); }

  int passes() const { return passes_; }
  /// Of all passes.
  double seconds(LayerKind kind) const { return seconds_[static_cast<std::size_t>(kind)]; }
  double total_seconds() const;

 private:
  using Clock = std::chrono::steady_clock;

  std::array<double, kAllLayerKinds.size()> seconds_{};
  Clock::time_point last_{};
  int passes_ = 0;
};

/// Profile::lap where there is a profile. The stages of a forward pass end with it.
inline void lap(Profile* profile, LayerKind kind) {
  if (profile != nullptr) profile->lap(kind);
}

}  // namespace vit
