// DINOv3 as its own repository publishes it (facebookresearch/dinov3, dinov3_vits16_pretrain_*.pth and its
// like): backbones without a config.json, whose tensors have nearly timm's names.
#include <algorithm>
#include <array>

#include "io/dino_release.hpp"
#include "io/family.hpp"

namespace vit::io {
namespace {

// dinov3/hub/backbones.py
constexpr std::array<NamedArchitecture, 7> kArchitectures{{
    {"dinov3_vits16", R"({"embed_dim":384,"depth":12,"num_heads":6,"mlp_size":1536})"},
    {"dinov3_vits16plus", R"({"embed_dim":384,"depth":12,"num_heads":6,"mlp_size":1536,"swiglu":1})"},
    {"dinov3_vitb16", R"({"embed_dim":768,"depth":12,"num_heads":12,"mlp_size":3072})"},
    {"dinov3_vitl16", R"({"embed_dim":1024,"depth":24,"num_heads":16,"mlp_size":4096})"},
    {"dinov3_vitl16plus", R"({"embed_dim":1024,"depth":24,"num_heads":16,"mlp_size":4096,"swiglu":1})"},
    {"dinov3_vith16plus", R"({"embed_dim":1280,"depth":32,"num_heads":20,"mlp_size":5120,"swiglu":1})"},
    {"dinov3_vit7b16",
     R"({"embed_dim":4096,"depth":40,"num_heads":32,"mlp_size":8192,"swiglu":1,"qkv_bias":0})"},
}};

/// 64 numbers a head, but 128 in the network of seven billion parameters.
std::optional<std::int64_t> known_heads(std::int64_t width) {
  return width == 4096 ? 32 : heads_of_64(width);
}

/// Without files, as most releases have it.
bool has_qkv_bias(const WeightFiles& files) {
  return files.tensors().empty() ||
         std::any_of(files.tensors().begin(), files.tensors().end(),
                     [](const auto& entry) { return entry.first.ends_with(".attn.qkv.bias"); });
}

const DinoRelease& release() {
  static const DinoRelease dinov3{.patch_size = {16, 16},
                                  .registers = "storage_tokens",
                                  .num_registers_key = "n_storage_tokens",
                                  .num_registers = 4,
                                  .gated_fc1 = {"{block}mlp.w1", "{block}mlp.w2"},
                                  .heads = known_heads};
  return dinov3;
}

NameTable names(Mlp mlp) {
  constexpr Cut kQ{0, 1, 3};
  constexpr Cut kV{2, 3, 3};
  NameTable table = dino_names(release(), mlp);
  for (NameRule& rule : table.rules) {
    if (rule.canonical == "blocks.*.attn.q_bias") rule = {rule.canonical, {{"{block}attn.qkv.bias"}}, 0, kQ};
    if (rule.canonical == "blocks.*.attn.v_bias") rule = {rule.canonical, {{"{block}attn.qkv.bias"}}, 0, kV};
  }
  for (const std::string_view constant : {"rope_embed.", "local_cls_norm."})
    table.ignored.push_back(constant);
  table.ignored_endings = {".attn.qkv.bias_mask"};
  return table;
}

FamilyConfig read_config(ConfigReader& config, const WeightFiles& files) {
  FamilyConfig result;
  result.architecture = config.find_text("architecture").value_or("");
  ModelConfig& model = result.model;
  ReleaseSizes sizes(config, files);
  read_dino_sizes(sizes, files, release(), model);
  model.qkv_bias = sizes.given("qkv_bias").value_or(has_qkv_bias(files) ? 1 : 0) != 0;
  // The third of qkv's bias that belongs to k is masked; the mask is a constant beside it.
  model.key_bias = !model.qkv_bias;
  model.layer_norm_eps = 1e-5F;
  model.position_embedding = PositionEmbedding::none;
  model.rotary = RotaryEmbedding::centred;
  model.rotary_theta = 100;
  sizes.finish();
  result.names = names(model.mlp);
  return result;
}

bool recognises(const WeightFiles& files) {
  return files.find("cls_token") != nullptr && files.find("patch_embed.proj.weight") != nullptr &&
         (files.find("storage_tokens") != nullptr || files.find("rope_embed.periods") != nullptr);
}

}  // namespace

const Family& dinov3_release_family() {
  static const Family family{
      .name = "dinov3",
      .model_types = {},
      .classifiers = {},
      .headless = {},
      .names = names(Mlp::plain),
      .read_config = read_config,
      .architectures = kArchitectures,
      // Pictures as its README prepares them for the weights trained on photographs.
      .preset = R"({"resize_size":[256,256],"crop_size":null,"interpolation":"bilinear"})",
      .recognises = recognises,
  };
  return family;
}

}  // namespace vit::io
