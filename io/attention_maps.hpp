// What a network looks at: its attention as maps over the grid of patches. Numbers only;
// io/attention_image.hpp makes pictures of them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "vit/config.hpp"
#include "vit/observer.hpp"
#include "vit/tensor.hpp"

namespace vit::io {

/// What the T tokens of a picture are.
struct AttentionTokens {
  std::int64_t prefix = 0;   ///< class token, distillation token and registers, in front of the patches
  bool class_token = false;  ///< whether the first one is a class token
  Size2 grid;                ///< patches; T = prefix + height * width

  std::int64_t count() const { return prefix + patches(); }
  std::int64_t patches() const { return grid.height * grid.width; }
};

AttentionTokens attention_tokens(const ModelConfig& config, Size2 image);

/// Attention rollout (Abnar and Zuidema 2020, arXiv:2005.00928, equation 1): how much of each token has come
/// into another by way of all blocks, if a block mixes its tokens by Â = (A + I) / 2, with A the mean of its
/// heads and the rows of Â scaled to a sum of 1: Â_L ⋯ Â_2 Â_1.
///
/// One row of the product is all that is asked for, so it is multiplied from the last block down, vector by
/// matrix: L T² operations in place of L T³, for L T² floats of memory.
class AttentionRollout {
 public:
  /// The next block's attention, [h, T, T] of one picture; the first one's first.
  void add(const ConstTensorView& attention);

  /// `query` Â_L ⋯ Â_1, in double precision: T weights of the queries to T weights of the tokens that the
  /// first block is given.
  std::vector<double> propagate(std::vector<double> query) const;

 private:
  std::vector<Tensor> mixtures_;  // Â_1 …, [T, T]
};

/// What a picture's class token looks at. Without a class token: what its patches look at, the mean over all
/// of them; so a map shows how much attention each patch receives. Prefix tokens are looked at too, but have
/// no place on the maps, whose sum is therefore less than 1.
struct AttentionMaps {
  Tensor heads;    ///< [L, h, grid height, grid width]; of BlockForm::twin the first of a block's two
  Tensor rollout;  ///< [grid height, grid width]; empty unless it was asked for
  bool class_token = false;  ///< whose attention it is

  Size2 grid() const { return {heads.shape()[2], heads.shape()[3]}; }
  /// Of one head, [grid height, grid width].
  ConstTensorView head(std::int64_t block, std::int64_t head) const;
  /// The mean of a block's heads, [grid height, grid width].
  Tensor mean(std::int64_t block) const;
};

/// Makes the maps during a forward pass of one picture, block by block: of the attention itself, [h, T, T],
/// it keeps nothing, but for a rollout the mean of the heads.
class AttentionRecorder : public Observer {
 public:
  enum class Rollout { no, yes };

  /// For pictures of `image` pixels.
  AttentionRecorder(const ModelConfig& config, Size2 image, Rollout rollout);

  /// Attention [1, h, T, T] of each block in order; other stages are ignored. Throws Error(invalid_argument)
  /// for another shape or order.
  void on_stage(Stage stage, std::int64_t block, const ConstTensorView& tensor) override;

  /// Once, after the forward pass. Throws Error: not_finite, invalid_argument (the pass did not show the
  /// attention of every block).
  AttentionMaps finish();

 private:
  AttentionTokens tokens_;
  std::int64_t next_block_ = 0;
  AttentionMaps maps_;
  std::optional<AttentionRollout> rollout_;
};

}  // namespace vit::io
