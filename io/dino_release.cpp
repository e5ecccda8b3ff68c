#include "io/dino_release.hpp"

#include <string>

#include "io/timm_common.hpp"

namespace vit::io {
namespace {

constexpr std::string_view kPatch = "patch_embed.proj.weight";
constexpr std::string_view kGatedFc2 = "blocks.0.mlp.w3.weight";

/// "{block}mlp.w12" -> "blocks.0.mlp.w12.weight"
std::string in_first_block(std::string_view spelling) {
  constexpr std::string_view kBlock = "{block}";
  return "blocks.0." + std::string(spelling.substr(kBlock.size())) + ".weight";
}

}  // namespace

void read_dino_sizes(ReleaseSizes& sizes, const WeightFiles& files, const DinoRelease& release,
                     ModelConfig& model) {
  model.hidden_size = sizes.integer("embed_dim", kPatch, 0);
  model.num_channels = sizes.integer("in_chans", kPatch, 1, 3);
  model.patch_size = sizes.patch("patch_size", kPatch, 2, release.patch_size);
  model.num_layers = sizes.blocks("depth", "blocks.", ".norm1.weight");
  model.num_heads = sizes.heads("num_heads", release.heads(model.hidden_size));
  model.num_registers = sizes.integer(release.num_registers_key, release.registers, 1, release.num_registers);
  model.layer_scale = true;
  const std::string gate = in_first_block(release.gated_fc1.front());
  if (sizes.given("swiglu").value_or(0) != 0 || count_found(files, {gate, kGatedFc2}) > 0) {
    model.mlp = Mlp::gated;
    model.activation = Activation::silu;
    model.mlp_size = sizes.integer("mlp_size", kGatedFc2, 1);
  } else {
    model.mlp_size = sizes.integer("mlp_size", "blocks.0.mlp.fc1.weight", 0);
  }
}

NameTable dino_names(const DinoRelease& release, Mlp mlp) {
  NameTable table = timm_names({});
  for (NameRule& rule : table.rules) {
    if (rule.canonical == "reg_token") rule.spellings = {{release.registers}};
    if (mlp == Mlp::plain) continue;
    if (rule.canonical == "blocks.*.mlp.fc1") rule.spellings = {release.gated_fc1};
    if (rule.canonical == "blocks.*.mlp.fc2") rule.spellings = {{"{block}mlp.w3"}};
  }
  table.network.push_back(release.registers);
  return table;
}

}  // namespace vit::io
