// The arguments that timm would build a checkpoint's network with. Internal.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "io/config_reader.hpp"
#include "io/timm_architectures.hpp"

namespace vit::io {

/// Looks for each argument where timm does: model_args of config.json, what the architecture passes, then
/// what pretrained_cfg implies (num_classes, global_pool, in_chans, img_size), then the class's default. A
/// null is Python's None and hides what comes later. Every argument that is asked for is noted in the reader.
class TimmArgs {
 public:
  /// Both are referred to. Throws Error(config_invalid).
  TimmArgs(ConfigReader& config, const TimmArchitecture& architecture);

  std::int64_t integer(std::string_view key, std::int64_t otherwise);
  double number(std::string_view key, double otherwise);
  bool boolean(std::string_view key, bool otherwise);
  std::string text(std::string_view key, std::string_view otherwise);
  Size2 size(std::string_view key, Size2 otherwise);
  /// Of act_layer and its like, by timm's names.
  Activation activation(std::string_view key, Activation otherwise);
  /// norm_layer and its like. Norms that are neither layer nor RMS norms are Error(model_unsupported).
  struct NormLayer {
    NormKind kind = NormKind::layer;
    double epsilon = 1e-6;  // of timm's LayerNorm and RmsNorm; PyTorch's own is 1e-5

    bool operator==(const NormLayer&) const = default;
  };
  NormLayer norm_layer(std::string_view key);
  /// A class, by itself or with arguments of its own; any argument that is not among `known` is
  /// Error(model_unsupported). Null: `otherwise`.
  struct Layer {
    std::string name;
    Json arguments = Json::object();
  };
  Layer layer(std::string_view key, std::string_view otherwise,
              std::initializer_list<std::string_view> known);
  /// num_kv_heads: a number, or a list of one for each block. Nothing where it is not given.
  std::vector<std::int64_t> integers(std::string_view key, std::int64_t count);
  /// mlp_layer: the class, and of a GluMlp where its gate is.
  struct MlpLayer {
    std::string name;  ///< "Mlp", "GluMlp", "SwiGLU", …
    bool gate_last = true;
  };
  MlpLayer mlp_layer(std::string_view key);
  /// Whether anything but None, False, 0 and "" is given.
  bool is_set(std::string_view key);

  /// Whether anything but None is given.
  bool is_given(std::string_view key) { return find(key).value != nullptr; }

  /// Adds to what `info` shows.
  void note(std::string_view key, std::string value, std::string source) {
    config_.note(key, std::move(value), std::move(source));
  }

  /// Error(model_unsupported) if the argument is set.
  void refuse(std::string_view key);
  /// Nothing depends on these when a network only runs.
  void allow(std::initializer_list<std::string_view> keys);
  /// Error(model_unsupported) naming every argument that nobody has asked for.
  void finish() const;

  [[noreturn]] void fail(ErrorCode code, std::string_view what) const { config_.fail(code, what); }

 private:
  struct Source {
    Json values;
    std::string name;
  };
  struct Found {
    const Json* value = nullptr;  // nullptr: the class's default
    std::string_view source;
  };

  Found find(std::string_view key);
  void note(std::string_view key, std::string value, const Found& found);

  ConfigReader& config_;
  const TimmArchitecture& architecture_;
  std::vector<Source> sources_;  // the first one that has a key wins
  std::set<std::string, std::less<>> known_;
};

}  // namespace vit::io
