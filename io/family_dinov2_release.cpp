// DINOv2 as its own repository publishes it (facebookresearch/dinov2, dinov2_vits14_pretrain.pth and its
// like): backbones without a config.json, whose tensors have nearly timm's names.
#include <array>

#include "io/dino_release.hpp"
#include "io/family.hpp"

namespace vit::io {
namespace {

// dinov2/hub/backbones.py
constexpr std::array<NamedArchitecture, 8> kArchitectures{{
    {"dinov2_vits14",
     R"({"embed_dim":384,"depth":12,"num_heads":6,"mlp_size":1536,"num_register_tokens":0})"},
    {"dinov2_vitb14",
     R"({"embed_dim":768,"depth":12,"num_heads":12,"mlp_size":3072,"num_register_tokens":0})"},
    {"dinov2_vitl14",
     R"({"embed_dim":1024,"depth":24,"num_heads":16,"mlp_size":4096,"num_register_tokens":0})"},
    {"dinov2_vitg14",
     R"({"embed_dim":1536,"depth":40,"num_heads":24,"mlp_size":4096,"num_register_tokens":0,"swiglu":1})"},
    {"dinov2_vits14_reg",
     R"({"embed_dim":384,"depth":12,"num_heads":6,"mlp_size":1536,"num_register_tokens":4})"},
    {"dinov2_vitb14_reg",
     R"({"embed_dim":768,"depth":12,"num_heads":12,"mlp_size":3072,"num_register_tokens":4})"},
    {"dinov2_vitl14_reg",
     R"({"embed_dim":1024,"depth":24,"num_heads":16,"mlp_size":4096,"num_register_tokens":4})"},
    {"dinov2_vitg14_reg",
     R"({"embed_dim":1536,"depth":40,"num_heads":24,"mlp_size":4096,"num_register_tokens":4,"swiglu":1})"},
}};

const DinoRelease& release() {
  static const DinoRelease dinov2{.patch_size = {14, 14},
                                  .registers = "register_tokens",
                                  .num_registers_key = "num_register_tokens",
                                  .num_registers = 0,
                                  .gated_fc1 = {"{block}mlp.w12"},
                                  .heads = heads_of_64};
  return dinov2;
}

FamilyConfig read_config(ConfigReader& config, const WeightFiles& files) {
  FamilyConfig result;
  result.architecture = config.find_text("architecture").value_or("");
  ModelConfig& model = result.model;
  ReleaseSizes sizes(config, files);
  read_dino_sizes(sizes, files, release(), model);
  model.image_size = sizes.image("img_size", "pos_embed", 1, model.patch_size, {518, 518});
  model.layer_norm_eps = 1e-6F;
  if (model.num_registers > 0) {
    model.position_embedding = PositionEmbedding::class_and_patches;
    model.position_resampling = PositionResampling::bicubic_antialias;
  } else {
    model.position_resampling = PositionResampling::bicubic_offset;
  }
  sizes.finish();
  result.names = dino_names(release(), model.mlp);
  return result;
}

bool recognises(const WeightFiles& files) {
  return files.find("cls_token") != nullptr && files.find("pos_embed") != nullptr &&
         files.find("blocks.0.ls1.gamma") != nullptr &&
         (files.find("mask_token") != nullptr || files.find("register_tokens") != nullptr);
}

}  // namespace

const Family& dinov2_release_family() {
  static const Family family{
      .name = "dinov2",
      .model_types = {},
      .classifiers = {},
      .headless = {},
      .names = dino_names(release(), Mlp::plain),
      .read_config = read_config,
      .architectures = kArchitectures,
      // Pictures as in its evaluation (dinov2/data/transforms.py).
      .preset = R"({"resize_size":256,"crop_size":224,"interpolation":"bicubic"})",
      .recognises = recognises,
  };
  return family;
}

}  // namespace vit::io
