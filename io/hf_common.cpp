#include "io/hf_common.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "vit/error.hpp"

namespace vit::io {
namespace {

bool contains(const std::vector<std::string_view>& list, std::string_view item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

constexpr std::int64_t kDefaultLabels = 2;  // PreTrainedConfig: two labels, which older versions did not save

}  // namespace

void read_hf_encoder(ConfigReader& config, const HfDefaults& defaults, ModelConfig& model) {
  model.image_size = config.size("image_size", {224, 224});
  model.patch_size = config.size("patch_size", defaults.patch_size);
  model.num_channels = config.integer("num_channels", 3);
  model.hidden_size = config.integer("hidden_size", defaults.hidden_size);
  model.num_layers = config.integer("num_hidden_layers", 12);
  model.num_heads = config.integer("num_attention_heads", defaults.num_heads);
  model.activation = config.activation("hidden_act", defaults.activation);
  model.layer_norm_eps = static_cast<float>(config.number("layer_norm_eps", defaults.layer_norm_eps));
  model.qkv_bias = config.boolean("qkv_bias", true);

  // The classes read it if a config happens to have it: heads that are wider or narrower than D / h.
  const auto head_dim = config.find_integer("head_dim");
  if (head_dim && (model.num_heads < 1 || *head_dim != model.hidden_size / model.num_heads)) {
    config.fail(ErrorCode::model_unsupported,
                fmt::format("\"head_dim\": only hidden_size / num_attention_heads is supported, found {}",
                            *head_dim));
  }
}

// Files have the names of version 4 and before; version 5 calls its modules otherwise and reads both
// (conversion_mapping.py).
NameTable hf_vit_names(std::string_view base) {
  return {
      .bases = {base, ""},
      .blocks = {"encoder.layer.", "layers."},
      .rules =
          {
              {"cls_token", {{"{base}embeddings.cls_token"}}},
              {"dist_token", {{"{base}embeddings.distillation_token"}}},
              {"pos_embed", {{"{base}embeddings.position_embeddings"}}},
              {"patch_embed.proj", {{"{base}embeddings.patch_embeddings.projection"}}},
              {"blocks.*.norm1", {{"{block}layernorm_before"}}},
              {"blocks.*.attn.qkv",
               {{"{block}attention.attention.query", "{block}attention.attention.key",
                 "{block}attention.attention.value"},
                {"{block}attention.q_proj", "{block}attention.k_proj", "{block}attention.v_proj"}}},
              {"blocks.*.attn.proj", {{"{block}attention.output.dense"}, {"{block}attention.o_proj"}}},
              {"blocks.*.norm2", {{"{block}layernorm_after"}}},
              {"blocks.*.mlp.fc1", {{"{block}intermediate.dense"}, {"{block}mlp.fc1"}}},
              {"blocks.*.mlp.fc2", {{"{block}output.dense"}, {"{block}mlp.fc2"}}},
              {"norm", {{"{base}layernorm"}}},
              {"pooler.dense", {{"{base}pooler.dense"}}},
              {"head", {{"classifier"}}},
          },
      // A classifier ignores the pooler that a checkpoint kept from pre-training.
      .ignored = {"embeddings.mask_token", "embeddings.position_ids", "pooler."},
      .network = {"embeddings.", "encoder.", "layers.", "layernorm.", "classifier."},
  };
}

void read_hf_pooler(ConfigReader& config, const WeightFiles& files, std::string_view base,
                    FamilyConfig& result) {
  for (const std::string_view prefix : {base, std::string_view()}) {
    for (const char* suffix : {"weight", "bias"}) {
      if (files.find(fmt::format("{}pooler.dense.{}", prefix, suffix)) == nullptr) continue;
      ModelConfig& model = result.model;
      const std::int64_t size = config.integer("pooler_output_size", model.hidden_size);
      model.pooler_size =
          size == 0 ? model.hidden_size : size;  // as the config classes: 0 means hidden_size too
      model.pooler_activation = config.activation("pooler_act", Activation::tanh);
      return;
    }
  }
  result.notes.emplace_back("no pooler in the weights: the features are the class token after the last norm");
}

bool has_hf_head(const ConfigReader& config, const WeightFiles& files, const Family& family,
                 std::string_view head, FamilyConfig& result) {
  const std::vector<std::string> architectures = config.texts("architectures");
  for (const std::string& architecture : architectures) {
    const bool classifier = contains(family.classifiers, architecture);
    if (classifier || contains(family.headless, architecture)) {
      result.architecture = architecture;
      return classifier;
    }
  }
  const bool found = files.find(fmt::format("{}.weight", head)) != nullptr;
  const std::string tensor = fmt::format("{}{}.weight", files.wrapper(), head);
  const std::string consequence = found ? fmt::format("{} is there: a classifier", tensor)
                                        : fmt::format("{} is not there: no head", tensor);
  if (architectures.empty()) {
    result.notes.push_back(fmt::format("config.json names no architecture; {}", consequence));
  } else {
    result.architecture = architectures.front();
    result.notes.push_back(
        fmt::format("the architecture {} is unknown; {}", result.architecture, consequence));
  }
  return found;
}

std::int64_t count_hf_classes(ConfigReader& config, const WeightFiles& files, std::string_view head,
                              FamilyConfig& result) {
  const auto labels = config.labels();
  const auto num_labels = config.find_integer("num_labels");
  std::int64_t least = 0;             // classes that the config certainly has
  std::optional<std::int64_t> exact;  // where it leaves no doubt
  if (labels) {
    least = labels->empty() ? 0 : labels->rbegin()->first + 1;
  } else if (num_labels) {
    exact = *num_labels;
  }
  const StoredTensor* weight = files.find(fmt::format("{}.weight", head));
  const bool plausible =
      weight != nullptr && weight->shape.size() == 2 && weight->shape[1] == result.model.feature_size();
  std::int64_t classes = exact.value_or(labels ? least : kDefaultLabels);
  std::string source = exact    ? "config.json (num_labels)"
                       : labels ? "config.json (id2label)"
                                : "default of PreTrainedConfig";
  if (plausible && !exact && weight->shape[0] > (labels ? least : 0)) {
    classes = weight->shape[0];
    source = fmt::format("rows of {}", weight->name);
    if (labels) {
      result.notes.push_back(
          fmt::format("config.json names {} of the {} classes; the others are shown by their index",
                      labels->size(), classes));
    }
  }
  config.note("num_labels", std::to_string(classes), source);
  return classes;
}

}  // namespace vit::io
