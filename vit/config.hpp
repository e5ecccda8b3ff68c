// What a network looks like: everything that its weights do not say by themselves.
#pragma once

#include <cstdint>
#include <string_view>

namespace vit {

/// Height before width, everywhere. Pixels, or patches where the name says grid.
struct Size2 {
  std::int64_t height = 0;
  std::int64_t width = 0;

  bool operator==(const Size2&) const = default;
};

/// Element-wise functions, by their exact formulas (names of the references' config files in brackets).
enum class Activation {
  gelu,        ///< x Φ(x), Φ through erf            [gelu, gelu_python]
  gelu_tanh,   ///< 0.5 x (1 + tanh(√(2/π)(x + 0.044715 x³)))  [gelu_new, gelu_pytorch_tanh, gelu_fast,
               ///< gelu_accurate]
  quick_gelu,  ///< x σ(1.702 x)                      [quick_gelu]
  relu,        ///< max(0, x)                         [relu]
  silu,        ///< x σ(x)                            [silu, swish]
  tanh,        ///< tanh(x), of poolers               [tanh]
  sigmoid,     ///< σ(x)                              [sigmoid]
  identity,    ///< x                                 [linear]
};

/// "gelu", "gelu_tanh", …: the enumerator's name.
std::string_view to_string(Activation activation);

/// What the head is given.
enum class Pooling {
  cls,           ///< the class token, [B, D]
  mean,          ///< mean of the patch tokens, [B, D]
  cls_and_mean,  ///< class token ⊕ mean of the patch tokens, [B, 2 D] (DINOv2's linear head)
  attention,     ///< what a learned query attends to in the patch tokens, [B, D] (Zhai et al. 2022, "MAP")
};

std::string_view to_string(Pooling pooling);

/// Where the last layer norm stands.
enum class FinalNorm {
  before_pooling,  ///< over all tokens; what Session calls last_hidden_state is normed
  after_pooling,   ///< over the pooled vector only (timm's fc_norm)
  none,
};

std::string_view to_string(FinalNorm norm);

/// The feed-forward half of a block.
enum class Mlp {
  plain,  ///< W2 act(W1 x)
  gated,  ///< W2 (act(Wg x) ⊙ Wu x); fc1 holds the rows of Wg, then those of Wu (SwiGLU, Shazeer 2020)
};

std::string_view to_string(Mlp mlp);

/// The second token of DeiT (Touvron et al. 2021, arXiv:2012.12877, section 4).
enum class Distillation {
  none,
  token,  ///< takes part in attention, nothing reads it in the end
  head,   ///< has a head of its own; the logits are the mean of both heads
};

std::string_view to_string(Distillation distillation);

/// Which tokens the table of learned positions has a row for; prefix tokens first, as they stand.
enum class PositionEmbedding {
  all_tokens,
  class_and_patches,  ///< registers have none (DINOv2 with registers)
  patches,            ///< prefix tokens have none (timm's no_embed_class)
  none,               ///< no table
};

std::string_view to_string(PositionEmbedding positions);

/// Rotary positions of the patches: pairs of numbers of q and k are turned by angles that grow with row and
/// column (Su et al. 2021, arXiv:2104.09864). Of a head's d/2 pairs the first half belongs to rows, the
/// second to columns. Pair k of d/4 has the frequency θ^(−4k/d).
enum class RotaryEmbedding {
  none,
  centred,  ///< angle 2π f (2 (i + 1/2)/n − 1) in row i of n (DINOv3)
  indexed,  ///< angle f i r/n, r of ModelConfig::rotary_grid (EVA-02)
};          // i counts from ModelConfig::rotary_offset

std::string_view to_string(RotaryEmbedding rotary);

/// Which numbers of a head make a pair.
enum class RotaryLayout {
  halves,    ///< i and i + d/2
  adjacent,  ///< 2 i and 2 i + 1
};

std::string_view to_string(RotaryLayout layout);

/// Which half of a head's pairs is turned by rows.
enum class RotaryOrder { rows_first, columns_first };

std::string_view to_string(RotaryOrder order);

/// Learned numbers, by head, row and column distance, that are added to the scores of attention (BEiT, Bao et
/// al. 2021, arXiv:2106.08254). Three more are for the class token's row, its column, and itself.
enum class RelativePositions {
  none,
  per_block,  ///< a table in each block
  shared,     ///< one table for all
  both,       ///< their sum
};

std::string_view to_string(RelativePositions positions);

/// How tables of relative positions that were made for one grid serve another.
enum class RelativeResampling {
  none,      ///< they do not
  bilinear,  ///< torch.nn.functional.interpolate(mode="bilinear") as transformers' BEiT calls it
};

std::string_view to_string(RelativeResampling resampling);

/// How a position table made for one grid of patches serves another.
enum class PositionResampling {
  bicubic,  ///< torch.nn.functional.interpolate(mode="bicubic", align_corners=False), a = −0.75, no antialias
  bicubic_antialias,  ///< the same with antialias=True: a = −0.5, the kernel as wide as what it shrinks
  bicubic_aligned,    ///< bicubic with align_corners=True: corners stay corners (torchvision)
  bicubic_offset,     ///< bicubic by the factor (n + 0.1)/m for n of m rows (DINOv2's own code)
};

std::string_view to_string(PositionResampling resampling);

/// A Vision Transformer encoder (Dosovitskiy et al. 2021, arXiv:2010.11929) with an optional head.
struct ModelConfig {
  Size2 image_size{224, 224};      ///< pixels that the position table was made for
  Size2 patch_size{16, 16};        ///< pixels; also the stride of the patch embedding
  std::int64_t num_channels = 3;   ///< C
  std::int64_t hidden_size = 768;  ///< D
  std::int64_t num_layers = 12;    ///< L
  std::int64_t num_heads = 12;     ///< h, divides D
  std::int64_t mlp_size = 3072;    ///< F, what fc2 reads
  Activation activation = Activation::gelu;
  float layer_norm_eps = 1e-12F;
  bool patch_bias = true;
  bool qkv_bias = true;
  bool key_bias = true;      ///< with qkv_bias: k has one, too
  bool qk_norm = false;      ///< layer norm over each head of q and k, behind their bias
  bool attn_norm = false;    ///< layer norm between attention and its projection
  bool layer_scale = false;  ///< per-channel factor on both branches of a block (Touvron et al. 2021)
  Mlp mlp = Mlp::plain;
  bool mlp_norm = false;  ///< layer norm in front of fc2

  bool class_token = true;
  Distillation distillation = Distillation::none;  ///< its token stands behind the class token
  std::int64_t num_registers = 0;  ///< learned tokens behind those (Darcet et al. 2023, arXiv:2309.16588)
  PositionEmbedding position_embedding = PositionEmbedding::all_tokens;
  PositionResampling position_resampling = PositionResampling::bicubic;
  RotaryEmbedding rotary = RotaryEmbedding::none;
  RotaryLayout rotary_layout = RotaryLayout::halves;
  RotaryOrder rotary_order = RotaryOrder::rows_first;
  double rotary_theta = 100;
  double rotary_offset = 0;
  Size2 rotary_grid{};  ///< r of RotaryEmbedding::indexed; {0, 0}: the image's own grid
  RelativePositions relative_positions = RelativePositions::none;
  RelativeResampling relative_resampling = RelativeResampling::none;
  bool pre_norm = false;  ///< a layer norm between the embeddings and the first block (CLIP)

  FinalNorm final_norm = FinalNorm::before_pooling;
  Pooling pooling = Pooling::cls;
  std::int64_t num_classes = 0;      ///< K; 0: a backbone without a classification head
  std::int64_t pre_logits_size = 0;  ///< width of a layer tanh(W x + b) between features and head; 0: none
  std::int64_t pooler_size = 0;      ///< width of the pooler (dense + activation on the class token); 0: none
  Activation pooler_activation = Activation::tanh;

  bool operator==(const ModelConfig&) const = default;

  /// d = D / h
  std::int64_t head_size() const { return hidden_size / num_heads; }
  /// Patches of an image, rows and columns; what does not fill a patch at the right and bottom is dropped.
  Size2 grid(Size2 image) const { return {image.height / patch_size.height, image.width / patch_size.width}; }
  /// N of an image
  std::int64_t num_patches(Size2 image) const { return grid(image).height * grid(image).width; }
  /// Tokens in front of the patches: class token, distillation token, registers.
  std::int64_t num_prefix_tokens() const {
    return (class_token ? 1 : 0) + (distillation == Distillation::none ? 0 : 1) + num_registers;
  }
  /// How many of them, counted from the first, have a row in the position table.
  std::int64_t num_prefix_positions() const;
  /// T of an image
  std::int64_t num_tokens(Size2 image) const { return num_prefix_tokens() + num_patches(image); }
  /// Rows of a table of relative positions.
  std::int64_t num_relative_positions() const {
    const Size2 g = grid(image_size);
    return (2 * g.height - 1) * (2 * g.width - 1) + 3;
  }
  /// Width of what the head is given.
  std::int64_t feature_size() const {
    return pooling == Pooling::cls_and_mean ? 2 * hidden_size : hidden_size;
  }
  /// Width of what the head reads.
  std::int64_t head_input_size() const { return pre_logits_size > 0 ? pre_logits_size : feature_size(); }

  /// Throws Error(config_invalid) naming the first field that cannot be, its value and what it must be.
  void validate() const;
  /// Throws Error(invalid_argument) unless an image of this size gives at least one patch, and as many as the
  /// network was made for where it cannot do with others.
  void validate_image(Size2 image) const;
};

}  // namespace vit
