// What benchmarks and reports need to know about the work, the machine and oneDNN.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "vit/config.hpp"

namespace vit {

/// Floating-point operations of one image's forward pass: two for each multiply-add of the matrix products
/// (patch embedding, q k v, scores, context, projections, MLP, pooler, head); norms, softmax and activations
/// are not counted.
double forward_flops(const ModelConfig& config, Size2 image);

/// The limit to measure a network against: a large square fp32 matmul with packed weights, which oneDNN runs
/// as fast as this machine can. Time it interleaved with the network.
class PeakGemm {
 public:
  /// `threads` as in SessionOptions.
  explicit PeakGemm(int threads);
  ~PeakGemm();

  void run();
  /// Of one run().
  double flops() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// "3.2.0"
std::string onednn_version();
/// The instruction set that oneDNN compiles for on this machine, e.g. "avx512_core_amx".
std::string onednn_isa();

}  // namespace vit
