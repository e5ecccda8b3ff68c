// What benchmarks and reports need to know about the work, the machine and oneDNN.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "vit/config.hpp"
#include "vit/precision.hpp"
#include "vit/profile.hpp"

namespace vit {

/// Floating-point operations of one image's forward pass: two for each multiply-add of the matrix products
/// (patch embedding, q k v, scores, context, projections, MLP, attention pooling, pooler, head); norms,
/// softmax and activations are not counted, nor what it takes to find the tokens to merge. `merge` as in
/// SessionOptions: each block counts with the tokens that it works on.
double forward_flops(const ModelConfig& config, Size2 image, std::int64_t merge = 0);
/// The part of them that layers of this kind have, all blocks together.
double forward_flops(const ModelConfig& config, Size2 image, LayerKind kind, std::int64_t merge = 0);

/// The limit to measure a network against: a large square matmul of its precision with packed weights, which
/// oneDNN runs as fast as this machine can. Time it interleaved with the network.
class PeakGemm {
 public:
  /// `threads` as in SessionOptions. Throws Error(internal) where oneDNN has no kernel of that precision.
  explicit PeakGemm(int threads, Precision precision = Precision::fp32);
  ~PeakGemm();

  void run();
  /// Of one run().
  double flops() const;
  /// oneDNN's name of the kernel.
  const std::string& kernel() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// "3.2.0"
std::string onednn_version();
/// How it was built: threading runtime and source revision, "OpenMP, 5da2f3a1".
std::string onednn_build();
/// The instruction set that oneDNN compiles for on this machine, e.g. "avx512_core_amx".
std::string onednn_isa();

}  // namespace vit
