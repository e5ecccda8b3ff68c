// VisionTransformer as torchvision writes it (torchvision/models/vision_transformer.py). No config.json comes
// with it; one that holds the class's arguments as "model_args" is read.
#include <array>

#include "io/family.hpp"
#include "io/release_sizes.hpp"

namespace vit::io {
namespace {

constexpr std::string_view kPatch = "conv_proj.weight";
constexpr std::string_view kBlocks = "encoder.layers.encoder_layer_";

constexpr std::string_view kB16 =
    R"({"patch_size":16,"num_layers":12,"num_heads":12,"hidden_dim":768,"mlp_dim":3072})";
constexpr std::string_view kB32 =
    R"({"patch_size":32,"num_layers":12,"num_heads":12,"hidden_dim":768,"mlp_dim":3072})";
constexpr std::string_view kL16 =
    R"({"patch_size":16,"num_layers":24,"num_heads":16,"hidden_dim":1024,"mlp_dim":4096})";
constexpr std::string_view kL32 =
    R"({"patch_size":32,"num_layers":24,"num_heads":16,"hidden_dim":1024,"mlp_dim":4096})";
constexpr std::string_view kH14 =
    R"({"patch_size":14,"num_layers":32,"num_heads":16,"hidden_dim":1280,"mlp_dim":5120})";

// The builders of that file with the recipes of their weights: the first row of a builder is its default's.
constexpr std::array<NamedArchitecture, 10> kArchitectures{{
    {"vit_b_16", kB16, R"({"crop_size":224,"resize_size":256,"interpolation":"bilinear"})"},
    {"vit_b_16.swag_e2e", kB16, R"({"crop_size":384,"resize_size":384,"interpolation":"bicubic"})"},
    {"vit_b_16.swag_linear", kB16, R"({"crop_size":224,"resize_size":224,"interpolation":"bicubic"})"},
    {"vit_b_32", kB32, R"({"crop_size":224,"resize_size":256,"interpolation":"bilinear"})"},
    {"vit_l_16", kL16, R"({"crop_size":224,"resize_size":242,"interpolation":"bilinear"})"},
    {"vit_l_16.swag_e2e", kL16, R"({"crop_size":512,"resize_size":512,"interpolation":"bicubic"})"},
    {"vit_l_16.swag_linear", kL16, R"({"crop_size":224,"resize_size":224,"interpolation":"bicubic"})"},
    {"vit_l_32", kL32, R"({"crop_size":224,"resize_size":256,"interpolation":"bilinear"})"},
    {"vit_h_14", kH14, R"({"crop_size":518,"resize_size":518,"interpolation":"bicubic"})"},
    {"vit_h_14.swag_linear", kH14, R"({"crop_size":224,"resize_size":224,"interpolation":"bicubic"})"},
}};

std::optional<std::int64_t> known_heads(std::int64_t width) {
  if (width == 768) return 12;
  if (width == 1024 || width == 1280) return 16;
  return std::nullopt;
}

/// Of the layer between the class token and the head; most networks have none.
std::int64_t representation_size(ReleaseSizes& sizes) {
  constexpr std::string_view kLayer = "heads.pre_logits.weight";
  return sizes.has(kLayer) ? sizes.integer("representation_size", kLayer, 0)
                           : sizes.given("representation_size").value_or(0);
}

std::int64_t class_count(ReleaseSizes& sizes, const WeightFiles& files) {
  constexpr std::string_view kWeight = "heads.head.weight";
  constexpr std::string_view kBias = "heads.head.bias";
  if (files.tensors().empty()) return sizes.integer("num_classes", kWeight, 0, 1000);
  const bool headless = count_found(files, {kWeight, kBias}) == 0 && !sizes.given("num_classes");
  return headless ? 0 : sizes.outputs("num_classes", kWeight, 0, kBias);
}

FamilyConfig read_config(ConfigReader& config, const WeightFiles& files) {
  FamilyConfig result;
  result.architecture = config.find_text("architecture").value_or("");
  ModelConfig& model = result.model;
  ReleaseSizes sizes(config, files);
  model.hidden_size = sizes.integer("hidden_dim", kPatch, 0);
  model.num_channels = sizes.integer("in_channels", kPatch, 1, 3);
  model.patch_size = sizes.patch("patch_size", kPatch, 2, {16, 16});
  model.num_layers = sizes.blocks("num_layers", kBlocks, ".ln_1.weight");
  model.num_heads = sizes.heads("num_heads", known_heads(model.hidden_size));
  model.mlp_size = sizes.integer("mlp_dim", "encoder.layers.encoder_layer_0.mlp.0.weight", 0);
  model.image_size = sizes.image("image_size", "encoder.pos_embedding", 1, model.patch_size, {224, 224});
  model.num_classes = class_count(sizes, files);
  model.pre_logits_size = representation_size(sizes);
  model.layer_norm_eps = 1e-6F;
  model.position_resampling = PositionResampling::bicubic_aligned;
  sizes.finish();
  return result;
}

bool recognises(const WeightFiles& files) {
  return count_found(files, {"class_token", kPatch, "encoder.pos_embedding"}) >= 2;
}

NameTable names() {
  NameTable table{.bases = {""},
                  .blocks = {kBlocks},
                  .rules = {{"cls_token", {{"class_token"}}},
                            {"pos_embed", {{"encoder.pos_embedding"}}},
                            {"patch_embed.proj", {{"conv_proj"}}},
                            {"norm", {{"encoder.ln"}}},
                            {"pre_logits", {{"heads.pre_logits"}}},
                            {"head", {{"heads.head"}}},
                            {"blocks.*.norm1", {{"{block}ln_1"}}},
                            {"blocks.*.attn.qkv", {{"{block}self_attention.in_proj_"}}},
                            {"blocks.*.attn.proj", {{"{block}self_attention.out_proj"}}},
                            {"blocks.*.norm2", {{"{block}ln_2"}}},
                            // An MLP before torchvision 0.12 had names for its layers.
                            {"blocks.*.mlp.fc1", {{"{block}mlp.0"}, {"{block}mlp.linear_1"}}},
                            {"blocks.*.mlp.fc2", {{"{block}mlp.3"}, {"{block}mlp.linear_2"}}}},
                  .ignored = {},
                  .network = {"class_token", "conv_proj.", "encoder.", "heads."}};
  return table;
}

}  // namespace

const Family& torchvision_family() {
  static const Family family{
      .name = "torchvision_vit",
      .model_types = {},
      .classifiers = {},
      .headless = {},
      .names = names(),
      .read_config = read_config,
      .architectures = kArchitectures,
      .preset = R"({"interpolation":"bilinear"})",
      .recognises = recognises,
  };
  return family;
}

}  // namespace vit::io
