// One thread's way to run a Model: primitives and workspace for one batch and image size.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "vit/config.hpp"
#include "vit/model.hpp"
#include "vit/observer.hpp"
#include "vit/profile.hpp"
#include "vit/tensor.hpp"

namespace vit {

/// Cores that this process may use: its CPU affinity, lowered by a cgroup quota.
int available_threads();

struct SessionOptions {
  std::int64_t batch = 1;
  Size2 image_size{};           ///< pixels; {0, 0}: the model's own. Others get resampled positions.
  int threads = 0;              ///< cores that one forward() uses; 0: available_threads()
  bool attention_maps = false;  ///< keep whole attention maps for the observer: B h T² floats
  std::int64_t merge = 0;       ///< tokens that every block merges (vit/token_counts.hpp); 0: none
  Profile* profile = nullptr;   ///< to be filled by every forward(); must outlive the Session
};

/// Views into the Session, valid until its next forward().
struct Outputs {
  ConstTensorView last_hidden_state;  ///< [B, T, D], after the final layer norm where that comes first; T of
                                      ///< what is left where tokens are merged
  ConstTensorView features;  ///< [B, feature size]: what the head is given; without a head the pooler's
                             ///< output, or what is pooled where there is no pooler
  ConstTensorView logits;    ///< [B, K]; data is null where the model has no head

  // Of Distillation::head; data is null elsewhere. `logits` are the mean of these two.
  ConstTensorView distillation_features;  ///< [B, D]: what the second head is given
  ConstTensorView cls_logits;             ///< [B, K]
  ConstTensorView distillation_logits;    ///< [B, K]
};

/// Not thread-safe: one thread at a time. Many Sessions may share one Model.
class Session {
 public:
  /// Builds every primitive and takes all memory. Throws Error(invalid_argument) for a batch, image size or
  /// number of threads that cannot be, and for tokens to merge where the network's cannot be or attention
  /// maps are kept, which have no place for tokens that stand for several; std::bad_alloc.
  explicit Session(std::shared_ptr<const Model> model, const SessionOptions& options = {});
  ~Session();
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;

  /// pixel_values [B, C, H, W] of the options' sizes. Allocates nothing. Throws Error(invalid_argument) for
  /// another shape and for no data.
  const Outputs& forward(const ConstTensorView& pixel_values, Observer* observer = nullptr);

  const SessionOptions& options() const;

  /// What oneDNN runs, one line each: "blocks.attn.qkv  brg:avx512_core".
  std::vector<std::string> kernels() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace vit
