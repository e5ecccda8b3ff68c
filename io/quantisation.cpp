#include "io/quantisation.hpp"

#include <fmt/format.h>

#include "io/config_reader.hpp"

namespace vit::io {
namespace {

constexpr std::string_view kMethod = "compressed-tensors";
constexpr std::string_view kFormat = "int-quantized";

}  // namespace

Json quantisation_config(const std::vector<std::string>& unrounded) {
  const Json weights{
      {"num_bits", 8}, {"type", "int"}, {"symmetric", true}, {"strategy", "channel"}, {"dynamic", false}};
  const Json activations{
      {"num_bits", 8}, {"type", "int"}, {"symmetric", false}, {"strategy", "token"}, {"dynamic", true}};
  const Json group{{"targets", {"Linear"}}, {"weights", weights}, {"input_activations", activations}};
  return {{"quant_method", kMethod},
          {"format", kFormat},
          {"quantization_status", "compressed"},
          {"config_groups", {{"group_0", group}}},
          {"ignore", unrounded}};
}

bool says_quantised(const ConfigReader& config) {
  const Json* settings = find(config.json(), kQuantisationKey);
  if (settings == nullptr) return false;
  const auto say = [&](std::string_view key) {
    const Json* value = settings->is_object() ? find(*settings, key) : nullptr;
    return value == nullptr ? "nothing" : describe(*value);
  };
  const auto is = [&](std::string_view key, std::string_view expected) {
    const Json* value = settings->is_object() ? find(*settings, key) : nullptr;
    return value != nullptr && *value == expected;
  };
  if (is("quant_method", kMethod) && is("format", kFormat)) return true;
  config.fail(
      ErrorCode::model_unsupported,
      fmt::format("{}: quant_method {}, format {}: of quantised weights Vitrine reads those of {} in the "
                  "format {}, which vitrine quantize makes of F32, F16 or BF16",
                  kQuantisationKey, say("quant_method"), say("format"), kMethod, kFormat));
}

}  // namespace vit::io
