#include "tests/vit/merging_cases.hpp"

#include <stdexcept>

namespace vit::test {
namespace {

/// One of network_cases(), four blocks deep, on 7 x 8 patches.
NetworkCase merged(const char* name, std::int64_t tokens) {
  NetworkCase c = network_case(name);
  c.name += "_merge_" + std::to_string(tokens);
  c.config.num_layers = 4;
  c.config.image_size = {7 * c.config.patch_size.height, 8 * c.config.patch_size.width};
  c.image = {};
  c.batch = 2;
  c.merge = tokens;
  return c;
}

}  // namespace

const std::vector<NetworkCase>& merging_cases() {
  static const std::vector<NetworkCase> all{
      merged("small", 1),
      merged("small", 8),
      merged("small", 1000),  // half of the patches in every block
      merged("6_heads_of_64", 9),
      merged("layer_scale", 5),
      merged("cls_and_mean", 7),
      merged("no_class_token", 6),
      merged("no_class_token", 1000),
      merged("registers", 8),
      merged("registers_alone", 5),
      merged("registers_alone", 1000),
      merged("distillation_head", 7),
      merged("distillation_token", 1000),
      merged("qk_norm", 8),
      merged("pre_norm", 8),
      merged("mean_normed_after", 8),
      merged("mean_of_all_tokens", 8),
      merged("gated_mlp", 8),
      merged("pooling_mean_max", 8),
      merged("attention_pooling", 8),
      merged("attention_pooling_behind_registers", 1000),
      merged("embed_norm", 8),
      merged("inner_norms", 8),
      [] {  // whose norms behind the branches make four blocks of this width ill-conditioned
        NetworkCase c = merged("post_norm", 8);
        c.config.num_layers = 2;
        return c;
      }(),
      [] {
        NetworkCase c = merged("small", 6);
        c.name = "other_image_size";
        c.image = {40, 80};
        return c;
      }(),
  };
  return all;
}

const NetworkCase& merging_case(std::string_view name) {
  for (const NetworkCase& c : merging_cases())
    if (c.name == name) return c;
  throw std::logic_error("no merging case " + std::string(name));
}

}  // namespace vit::test
