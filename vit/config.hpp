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
  gelu,           ///< x Φ(x), Φ through erf            [gelu, gelu_python]
  gelu_tanh,      ///< 0.5 x (1 + tanh(√(2/π)(x + 0.044715 x³)))  [gelu_new, gelu_pytorch_tanh, gelu_fast,
                  ///< gelu_accurate]
  quick_gelu,     ///< x σ(1.702 x)                      [quick_gelu]
  relu,           ///< max(0, x)                         [relu]
  silu,           ///< x σ(x)                            [silu, swish]
  tanh,           ///< tanh(x), of poolers               [tanh]
  sigmoid,        ///< σ(x)                              [sigmoid]
  identity,       ///< x                                 [linear, identity]
  gelu_10,        ///< min(10, x Φ(x))                   [gelu_10]
  leaky_relu,     ///< x > 0 ? x : 0.01 x                [leaky_relu]
  relu6,          ///< min(6, max(0, x))                 [relu6]
  relu2,          ///< max(0, x)²                        [relu2]
  elu,            ///< x > 0 ? x : eˣ − 1                [elu, celu: the same where α is 1]
  selu,           ///< 1.0507… (x > 0 ? x : 1.6733… (eˣ − 1))  [selu] (Klambauer et al. 2017)
  mish,           ///< x tanh(ln(1 + eˣ))                [mish]
  hard_sigmoid,   ///< min(1, max(0, x/6 + 1/2))         [hard_sigmoid, hardsigmoid]
  hard_swish,     ///< x min(1, max(0, x/6 + 1/2))       [hard_swish, hardswish]
  hard_mish,      ///< x min(1, max(0, x/2 + 1))         [hard_mish]
  laplace,        ///< Φ((x − 0.707107) / 0.282095)      [laplace]
  sqrt_softplus,  ///< √ln(1 + eˣ)                       [sqrtsoftplus]
};

/// "gelu", "gelu_tanh", …: the enumerator's name.
std::string_view to_string(Activation activation);

/// What the head is given.
enum class Pooling {
  cls,           ///< the class token, [B, D]
  mean,          ///< mean of the patch tokens, [B, D]
  cls_and_mean,  ///< class token ⊕ mean of the patch tokens, [B, 2 D] (DINOv2's linear head)
  max,           ///< the largest of the patch tokens, number by number, [B, D]
  mean_max,      ///< half the sum of mean and max, [B, D] (timm's avgmax)
  attention,     ///< what a learned query attends to in the patch tokens, [B, D] (Zhai et al. 2022, "MAP")
};

std::string_view to_string(Pooling pooling);

/// What every norm of the network computes.
enum class NormKind {
  layer,  ///< γ (x − mean(x)) / √(var(x) + ε) + β
  rms,    ///< γ x / √(mean(x²) + ε), without β (Zhang and Sennrich 2019, arXiv:1910.07467)
};

std::string_view to_string(NormKind norm);

/// How the two halves of a block, attention A and the feed-forward part F, meet the residual stream x. n₁, n₂
/// are norms, γ₁, γ₂ layer scales, where there are any.
enum class BlockForm {
  pre_norm,        ///< x + γ₁ A(n₁ x), then x + γ₂ F(n₂ x)
  post_norm,       ///< x + n₁ A(x), then x + n₂ F(x) (Liu et al. 2022, arXiv:2111.09883)
  parallel,        ///< x + γ₁ (A(n₁ x) + F(n₁ x)) (Dehghani et al. 2023, arXiv:2302.05442)
  parallel_fused,  ///< the same; one matrix projects A's and F's inner states side by side
  twin,  ///< pre_norm with two of each: x + Σ γ A(n x), then x + Σ γ F(n x) (Touvron et al. 2022,
};       ///< arXiv:2203.09795)

std::string_view to_string(BlockForm form);

/// What weighs the values.
enum class AttentionForm {
  softmax,       ///< softmax(q kᵀ / √d)
  differential,  ///< softmax(q₁ k₁ᵀ / √(d/2)) − λ softmax(q₂ k₂ᵀ / √(d/2)), of the halves of q and k; an RMS
};               ///< norm over each head of the context follows (Ye et al. 2024, arXiv:2410.05258)

std::string_view to_string(AttentionForm form);

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
  mixed,  ///< angle f i + g j of row i and column j; f and g are learned, for each pair of each head of each
};        ///< block (Heo et al. 2024, arXiv:2403.13298). i, j count from ModelConfig::rotary_offset

std::string_view to_string(RotaryEmbedding rotary);

/// Which numbers of a head make a pair.
enum class RotaryLayout {
  halves,    ///< i and i + d/2
  adjacent,  ///< 2 i and 2 i + 1
};

std::string_view to_string(RotaryLayout layout);

/// Which half of a head's pairs is turned by rows; of mixed ones, whose frequencies the table has first.
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
  none,       ///< they do not
  bilinear,   ///< torch.nn.functional.interpolate(mode="bilinear") as transformers' BEiT calls it
  geometric,  ///< linear between points whose distances grow by a constant factor, as timm's
              ///< resize_rel_pos_bias_table places them
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
  Size2 image_size{224, 224};         ///< pixels that the position table was made for
  Size2 patch_size{16, 16};           ///< pixels; also the stride of the patch embedding
  std::int64_t num_channels = 3;      ///< C
  std::int64_t hidden_size = 768;     ///< D
  std::int64_t num_layers = 12;       ///< L
  std::int64_t num_heads = 12;        ///< h, divides D
  std::int64_t num_kv_heads = 0;      ///< so many heads of k and v serve all of q (Ainslie et al. 2023,
                                      ///< arXiv:2305.13245); 0: each has its own
  std::int64_t ungrouped_blocks = 0;  ///< the first and last so many blocks have h of them in spite of it
  std::int64_t mlp_size = 3072;       ///< F, what fc2 reads
  Activation activation = Activation::gelu;
  NormKind norm = NormKind::layer;
  float layer_norm_eps = 1e-12F;  ///< of all norms
  BlockForm block = BlockForm::pre_norm;
  AttentionForm attention = AttentionForm::softmax;
  bool patch_bias = true;
  bool qkv_bias = true;
  bool key_bias = true;    ///< with qkv_bias: k has one, too
  bool qk_norm = false;    ///< layer norm over each head of q and k, behind their bias
  bool attn_norm = false;  ///< layer norm between attention and its projection
  bool proj_bias =
      true;  ///< of attention's projection and the MLP's layers; a parallel block's fc1 has one anyway
  bool layer_scale = false;     ///< per-channel factor on both branches of a block (Touvron et al. 2021)
  bool mlp_layer_scale = true;  ///< with layer_scale: the MLP's branch has one, too
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
  bool embed_norm = false;  ///< a norm over each patch's embedding, before tokens and positions come to it
  bool pre_norm = false;    ///< a norm between the embeddings and the first block (CLIP)

  FinalNorm final_norm = FinalNorm::before_pooling;
  Pooling pooling = Pooling::cls;
  bool pool_prefix = false;             ///< mean and attention pooling look at the prefix tokens, too
  std::int64_t attn_pool_heads = 0;     ///< of attention pooling; 0: h
  std::int64_t attn_pool_mlp_size = 0;  ///< 0: F
  std::int64_t num_classes = 0;         ///< K; 0: a backbone without a classification head
  std::int64_t pre_logits_size = 0;     ///< width of a layer tanh(W x + b) between features and head; 0: none
  std::int64_t pooler_size = 0;  ///< width of the pooler (dense + activation on the class token); 0: none
  Activation pooler_activation = Activation::tanh;

  bool operator==(const ModelConfig&) const = default;

  /// d = D / h
  std::int64_t head_size() const { return hidden_size / num_heads; }
  /// Whether heads of q share those of k and v in a block.
  bool is_grouped(std::int64_t index) const {
    return num_kv_heads > 0 && num_kv_heads < num_heads && index >= ungrouped_blocks &&
           index < num_layers - ungrouped_blocks;
  }
  /// Maps of attention that each head has.
  std::int64_t maps_per_head() const { return attention == AttentionForm::differential ? 2 : 1; }
  /// Width of what q and k meet in: d, or half of it.
  std::int64_t query_size() const { return head_size() / maps_per_head(); }
  std::int64_t pool_heads() const { return attn_pool_heads == 0 ? num_heads : attn_pool_heads; }
  std::int64_t pool_mlp_size() const { return attn_pool_mlp_size == 0 ? mlp_size : attn_pool_mlp_size; }
  bool is_parallel() const { return block == BlockForm::parallel || block == BlockForm::parallel_fused; }
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
  /// Tokens that pooling leaves out, from the first.
  std::int64_t num_unpooled_tokens() const { return pool_prefix ? 0 : num_prefix_tokens(); }
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
