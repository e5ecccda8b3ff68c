#include "io/hf_vision_tower.hpp"

namespace vit::io {
NameTable vision_tower_names(std::string_view final_norm) {
  return {
      .bases = {"vision_model.", ""},
      .blocks = {"encoder.layers."},
      .rules =
          {
              {"pos_embed", {{"{base}embeddings.position_embedding.weight"}}, 1},
              {"patch_embed.proj", {{"{base}embeddings.patch_embedding"}}},
              {"blocks.*.norm1", {{"{block}layer_norm1"}}},
              {"blocks.*.attn.qkv",
               {{"{block}self_attn.q_proj", "{block}self_attn.k_proj", "{block}self_attn.v_proj"}}},
              {"blocks.*.attn.proj", {{"{block}self_attn.out_proj"}}},
              {"blocks.*.norm2", {{"{block}layer_norm2"}}},
              {"blocks.*.mlp.fc1", {{"{block}mlp.fc1"}}},
              {"blocks.*.mlp.fc2", {{"{block}mlp.fc2"}}},
              {final_norm, {{"{base}post_layernorm"}}},
              {"head", {{"classifier"}}},
          },
      .ignored = {"embeddings.position_ids"},
      .network = {"embeddings.", "encoder.", "post_layernorm.", "classifier."},
  };
}

ConfigReader vision_tower_config(const ConfigReader& config) {
  for (const char* key :
       {"vision_config_dict", "vision_config"}) {  // files of 2022 have both: the first one holds
    if (find(config.json(), key) != nullptr) return config.section(key);
  }
  const std::string model_type = config.find_text("model_type").value_or("");
  if (model_type.empty() || model_type.ends_with("_vision_model")) return config;
  return config.section("vision_config");
}

void read_vision_tower(ConfigReader& config, std::string_view defaults_source, const HfDefaults& defaults,
                       ModelConfig& model) {
  config.set_defaults_source(defaults_source);
  ConfigReader tower = vision_tower_config(config);
  tower.set_defaults_source(defaults_source);
  read_hf_encoder(tower, defaults, model);
  model.mlp_size = tower.integer("intermediate_size", 3072);
  config.add_resolved(tower);
}

}  // namespace vit::io
