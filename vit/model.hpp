// A network ready to run: validated, packed once, immutable.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "vit/config.hpp"
#include "vit/precision.hpp"
#include "vit/weights.hpp"

namespace vit {

struct ModelOptions {
  /// Of the encoder's products; fp32 where this processor lacks it. Nothing: int8 of weights that are stored
  /// as 8-bit integers, else fp32.
  std::optional<Precision> precision = {};
  int threads = 0;  ///< that pack the weights; 0: all cores that the process may use
};

/// Shareable between threads; each thread runs it through a Session of its own.
class Model {
 public:
  /// Packs the weights into the layouts that oneDNN asks for. `weights` are not needed afterwards.
  /// Throws Error: config_invalid; weights_invalid if a tensor is missing, has another shape than the table
  /// says, or is there although the table has no such tensor.
  Model(const ModelConfig& config, Weights weights, const ModelOptions& options = {});
  ~Model();
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  const ModelConfig& config() const { return config_; }

  /// What the products are computed in: what was asked for (or the default), or fp32 where precision_note()
  /// says why not.
  Precision precision() const { return precision_; }
  const std::string& precision_note() const { return precision_note_; }

  struct Packed;
  /// For Session.
  const Packed& packed() const { return *packed_; }

 private:
  ModelConfig config_;
  Precision precision_;
  std::string precision_note_;
  std::unique_ptr<Packed> packed_;
};

}  // namespace vit
