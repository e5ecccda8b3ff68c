// ViT and AugReg checkpoints as google-research/vision_transformer publishes them: .npz files of JAX
// parameters, whose kernels have the input first.
#include "io/family.hpp"
#include "io/release_sizes.hpp"
#include "vit/error.hpp"

namespace vit::io {
namespace {

constexpr std::string_view kPatch = "embedding/kernel";  // [P, P, C, D]
constexpr std::string_view kBlock = "Transformer/encoderblock_";
constexpr std::string_view kQuery =
    "Transformer/encoderblock_0/MultiHeadDotProductAttention_1/query/kernel";  // [D, h, d]

FamilyConfig read_config(ConfigReader& config, const WeightFiles& files) {
  if (files.find("conv_root/kernel") != nullptr) {
    config.fail(ErrorCode::model_unsupported,
                "a hybrid network (conv_root/kernel: a ResNet in front of the encoder) is not supported");
  }
  FamilyConfig result;
  ModelConfig& model = result.model;
  ReleaseSizes sizes(config, files);
  model.hidden_size = sizes.integer("hidden_size", kPatch, 3);
  model.num_channels = sizes.integer("channels", kPatch, 2, 3);
  model.patch_size = sizes.patch("patch_size", kPatch, 0, {16, 16});
  model.num_layers = sizes.blocks("num_layers", kBlock, "/LayerNorm_0/scale");
  model.num_heads = sizes.integer("num_heads", kQuery, 1);
  model.mlp_size = sizes.integer("mlp_dim", "Transformer/encoderblock_0/MlpBlock_3/Dense_0/kernel", 1);
  model.class_token = files.find("cls") != nullptr;
  if (!model.class_token) model.pooling = Pooling::mean;
  model.image_size = sizes.image("image_size", "Transformer/posembed_input/pos_embedding",
                                 model.class_token ? 1 : 0, model.patch_size, {224, 224});
  if (count_found(files, {"head/kernel", "head/bias"}) > 0)
    model.num_classes = sizes.outputs("num_classes", "head/kernel", 1, "head/bias");
  if (count_found(files, {"pre_logits/kernel", "pre_logits/bias"}) > 0) {
    model.pre_logits_size = sizes.outputs("representation_size", "pre_logits/kernel", 1, "pre_logits/bias");
  }
  model.layer_norm_eps = 1e-6F;
  model.position_resampling = PositionResampling::bicubic_antialias;  // as timm runs them at another size
  sizes.finish();
  return result;
}

bool recognises(const WeightFiles& files) {
  return count_found(files, {kPatch, "Transformer/posembed_input/pos_embedding",
                             "Transformer/encoder_norm/scale"}) >= 2;
}

}  // namespace

NameTable google_vit_names() {
  NameTable table{.bases = {""},
                  .blocks = {kBlock},
                  .block_end = "/",
                  .rules = {{"cls_token", {{"cls"}}},
                            {"pos_embed", {{"Transformer/posembed_input/pos_embedding"}}},
                            {.canonical = "patch_embed.proj.weight",
                             .spellings = {{"embedding/kernel"}},
                             .layout = Layout::image_kernel},
                            {"patch_embed.proj.bias", {{"embedding/bias"}}}},
                  .ignored = {},
                  .network = {"cls", "embedding/", "Transformer/", "pre_logits/", "head/"}};
  const auto norm = [&](std::string_view weight, std::string_view bias, std::string_view scale,
                        std::string_view shift) {
    table.rules.push_back({weight, {{scale}}});
    table.rules.push_back({bias, {{shift}}});
  };
  const auto linear = [&](std::string_view weight, std::string_view bias, Spelling kernels, Spelling biases) {
    table.rules.push_back({.canonical = weight, .spellings = {std::move(kernels)}, .layout = Layout::kernel});
    table.rules.push_back({.canonical = bias, .spellings = {std::move(biases)}, .layout = Layout::flattened});
  };
  norm("blocks.*.norm1.weight", "blocks.*.norm1.bias", "{block}LayerNorm_0/scale", "{block}LayerNorm_0/bias");
  linear(
      "blocks.*.attn.qkv.weight", "blocks.*.attn.qkv.bias",
      {"{block}MultiHeadDotProductAttention_1/query/kernel",
       "{block}MultiHeadDotProductAttention_1/key/kernel",
       "{block}MultiHeadDotProductAttention_1/value/kernel"},
      {"{block}MultiHeadDotProductAttention_1/query/bias", "{block}MultiHeadDotProductAttention_1/key/bias",
       "{block}MultiHeadDotProductAttention_1/value/bias"});
  linear("blocks.*.attn.proj.weight", "blocks.*.attn.proj.bias",
         {"{block}MultiHeadDotProductAttention_1/out/kernel"},
         {"{block}MultiHeadDotProductAttention_1/out/bias"});
  norm("blocks.*.norm2.weight", "blocks.*.norm2.bias", "{block}LayerNorm_2/scale", "{block}LayerNorm_2/bias");
  linear("blocks.*.mlp.fc1.weight", "blocks.*.mlp.fc1.bias", {"{block}MlpBlock_3/Dense_0/kernel"},
         {"{block}MlpBlock_3/Dense_0/bias"});
  linear("blocks.*.mlp.fc2.weight", "blocks.*.mlp.fc2.bias", {"{block}MlpBlock_3/Dense_1/kernel"},
         {"{block}MlpBlock_3/Dense_1/bias"});
  norm("norm.weight", "norm.bias", "Transformer/encoder_norm/scale", "Transformer/encoder_norm/bias");
  linear("pre_logits.weight", "pre_logits.bias", {"pre_logits/kernel"}, {"pre_logits/bias"});
  linear("head.weight", "head.bias", {"head/kernel"}, {"head/bias"});
  return table;
}

const Family& google_vit_family() {
  static const Family family{
      .name = "google_vit",
      .model_types = {},
      .classifiers = {},
      .headless = {},
      .names = google_vit_names(),
      .read_config = read_config,
      .architectures = {},
      // As transformers prepares pictures for these weights (google/vit-base-patch16-224).
      .preset = R"({"crop_size":null,"interpolation":"bilinear","mean":[0.5,0.5,0.5],"std":[0.5,0.5,0.5]})",
      .recognises = recognises,
  };
  return family;
}

}  // namespace vit::io
