#include "apps/cmd_run.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>

#include "apps/load_model.hpp"
#include "apps/output.hpp"
#include "apps/rows.hpp"
#include "io/checkpoint.hpp"
#include "io/safetensors.hpp"
#include "io/safetensors_writer.hpp"
#include "vit/session.hpp"
#include "vit/stage_name.hpp"
#include "vit/token_counts.hpp"

namespace vit::apps {
namespace {

/// What --outputs names; hidden_states and attentions are one tensor for each stage.
struct Wanted {
  bool logits = false;
  bool features = false;
  bool last_hidden_state = false;
  bool hidden_states = false;
  bool attentions = false;
  bool pooler_output = false;
  bool cls_logits = false;  ///< and what else the two heads of a distilled network have
  bool distillation_logits = false;
  bool features_distillation = false;
};

const std::vector<std::string> kOutputs{
    "logits",        "features",   "last_hidden_state",   "hidden_states",        "attentions",
    "pooler_output", "cls_logits", "distillation_logits", "features_distillation"};

void need(bool there, std::string_view output, std::string_view what) {
  if (there) return;
  throw Error(ErrorCode::invalid_argument, fmt::format("--outputs {}: this model has no {}", output, what));
}

Wanted parse_outputs(const std::vector<std::string>& names, const ModelConfig& config) {
  Wanted wanted;
  const auto has = [&](const char* name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  if (names.empty()) {
    (config.num_classes > 0 ? wanted.logits : wanted.features) = true;
    return wanted;
  }
  wanted = {has("logits"),
            has("features"),
            has("last_hidden_state"),
            has("hidden_states"),
            has("attentions"),
            has("pooler_output"),
            has("cls_logits"),
            has("distillation_logits"),
            has("features_distillation")};
  need(!wanted.pooler_output || (config.pooler_size > 0 && config.num_classes == 0), "pooler_output",
       "pooler");
  const bool distilled = config.distillation == Distillation::head;
  need(!wanted.cls_logits || distilled, "cls_logits", "second head for distillation");
  need(!wanted.distillation_logits || distilled, "distillation_logits", "second head for distillation");
  need(!wanted.features_distillation || distilled, "features_distillation", "second head for distillation");
  if (wanted.logits && config.num_classes == 0) {
    throw Error(ErrorCode::invalid_argument,
                "--outputs logits: this model has no classification head; features, "
                "last_hidden_state, hidden_states and attentions are there");
  }
  return wanted;
}

/// The input tensor, checked against the model: [N, C, H, W].
Tensor read_pixel_values(const std::string& path, const ModelConfig& config,
                         const std::optional<Size2>& image_size) {
  const io::SafetensorsFile file(path, ErrorCode::tensor_invalid);
  Tensor pixel_values = file.read("pixel_values");
  const Shape& shape = pixel_values.shape();
  if (shape.size() != 4 || shape[0] < 1 || shape[1] != config.num_channels) {
    throw Error(ErrorCode::tensor_invalid,
                fmt::format("{}: pixel_values is {}, expected [N, {}, H, W] with N at least 1", path,
                            to_string(shape), config.num_channels));
  }
  if (image_size && Size2{shape[2], shape[3]} != *image_size) {
    throw Error(ErrorCode::tensor_invalid,
                fmt::format("{}: pixel_values is {}, expected images of {}x{} (--image-size)", path,
                            to_string(shape), image_size->height, image_size->width));
  }
  try {
    config.validate_image({shape[2], shape[3]});
  } catch (const Error& e) {
    throw Error(ErrorCode::tensor_invalid, fmt::format("{}: pixel_values: {}", path, e.what()));
  }
  return pixel_values;
}

/// Names and shapes of the file for N images, named as in the conformance kit; `tokens` in front of each
/// block and behind the last.
std::vector<TensorSpec> output_table(const Wanted& wanted, const ModelConfig& config, std::int64_t N,
                                     const std::vector<std::int64_t>& tokens) {
  const std::int64_t D = config.hidden_size;
  std::vector<TensorSpec> table;
  if (wanted.hidden_states) {
    for (std::size_t i = 0; i < tokens.size(); ++i)
      table.push_back({fmt::format("hidden_states.{}", i), {N, tokens[i], D}});
  }
  if (wanted.attentions) {
    for (std::size_t i = 0; i + 1 < tokens.size(); ++i)
      table.push_back({fmt::format("attentions.{}", i), {N, config.num_heads, tokens[i], tokens[i]}});
  }
  if (wanted.last_hidden_state) table.push_back({"last_hidden_state", {N, tokens.back(), D}});
  if (wanted.features) {
    table.push_back({"features", {N, config.pooler_size > 0 ? config.pooler_size : config.feature_size()}});
  }
  if (wanted.pooler_output) table.push_back({"pooler_output", {N, config.pooler_size}});
  if (wanted.features_distillation) table.push_back({"features_distillation", {N, config.hidden_size}});
  if (wanted.cls_logits) table.push_back({"cls_logits", {N, config.num_classes}});
  if (wanted.distillation_logits) table.push_back({"distillation_logits", {N, config.num_classes}});
  if (wanted.logits) table.push_back({"logits", {N, config.num_classes}});
  return table;
}

/// What is no stage of its own.
void write_heads(const Wanted& wanted, const Outputs& outputs, io::SafetensorsWriter& writer) {
  const auto write = [&](bool is_wanted, std::string_view name, const ConstTensorView& values) {
    if (is_wanted) writer.write(name, {values.data, static_cast<std::size_t>(values.size())});
  };
  write(wanted.pooler_output, "pooler_output", outputs.features);
  write(wanted.features_distillation, "features_distillation", outputs.distillation_features);
  write(wanted.cls_logits, "cls_logits", outputs.cls_logits);
  write(wanted.distillation_logits, "distillation_logits", outputs.distillation_logits);
}

/// Writes each stage that was asked for as it comes by.
class StageWriter : public Observer {
 public:
  StageWriter(io::SafetensorsWriter& writer, const Wanted& wanted) : writer_(writer), wanted_(wanted) {}

  /// Whether all features and logits so far were finite.
  bool finite() const { return finite_; }

  void on_stage(Stage stage, std::int64_t block, const ConstTensorView& tensor) override {
    if (stage == Stage::features || stage == Stage::logits) {
      finite_ = finite_ && std::all_of(tensor.data, tensor.data + tensor.size(),
                                       [](float x) { return std::isfinite(x); });
    }
    if (wants(stage))
      writer_.write(stage_name(stage, block), {tensor.data, static_cast<std::size_t>(tensor.size())});
  }

 private:
  bool wants(Stage stage) const {
    switch (stage) {
      case Stage::embeddings:
      case Stage::block:
        return wanted_.hidden_states;
      case Stage::attention_probs:
        return wanted_.attentions;
      case Stage::last_hidden_state:
        return wanted_.last_hidden_state;
      case Stage::features:
        return wanted_.features;
      case Stage::logits:
        return wanted_.logits;
    }
    return false;
  }

  io::SafetensorsWriter& writer_;
  const Wanted& wanted_;
  bool finite_ = true;
};

}  // namespace

void add_run(CLI::App& app, int& result) {
  auto options = std::make_shared<RunOptions>();
  CLI::App& command = *app.add_subcommand("run", "run the network alone on a prepared tensor");
  add_model_option(command, options->common);
  command.add_option("--input", options->input, "safetensors file with pixel_values [N, C, H, W]")
      ->required();
  command.add_option("-o,--output", options->output, "safetensors file for the results")->required();
  command
      .add_option("--outputs", options->outputs,
                  fmt::format("comma-separated, of: {} (default: logits; features of a model without a head)",
                              fmt::join(kOutputs, ", ")))
      ->delimiter(',')
      ->check(CLI::IsMember(kOutputs));
  command.add_option("--batch", options->batch, "most images that go through the network together")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  add_precision_option(command, options->common);
  add_merge_option(command, options->common);
  add_thread_option(command, options->common);
  add_verbosity_options(command, options->common);
  set_examples(command, {"vitrine preprocess cat.jpg -o cat.safetensors && vitrine run --input "
                         "cat.safetensors -o out.safetensors --outputs logits,features"});
  command.callback([options, &result] { result = run_run(*options); });
}

int run_run(const RunOptions& options) {
  refuse_overwriting(options.output, {options.input, options.common.model});
  io::Checkpoint checkpoint = load_model(model_path(options.common), load_options(options.common));
  const ModelConfig config = checkpoint.info.config;
  report_model(options.common, checkpoint.info);
  const Wanted wanted = parse_outputs(options.outputs, config);
  const Tensor pixel_values =
      read_pixel_values(options.input, config, load_options(options.common).image_size);
  const std::int64_t N = pixel_values.shape()[0];
  const Size2 image{pixel_values.shape()[2], pixel_values.shape()[3]};
  const std::int64_t image_floats = pixel_values.size() / N;

  validate_merge(config, options.common.merge);
  io::SafetensorsWriter writer(
      options.output, output_table(wanted, config, N, token_counts(config, image, options.common.merge)));
  StageWriter stages(writer, wanted);
  const auto model = std::make_shared<Model>(
      config, std::move(checkpoint.weights),
      ModelOptions{.precision = options.common.precision, .threads = options.common.threads});
  report_precision(options.common, *model);
  std::unique_ptr<Session> session;
  for (std::int64_t first = 0; first < N; first += options.batch) {
    const std::int64_t count = std::min(options.batch, N - first);
    if (!session || session->options().batch != count) {
      session = std::make_unique<Session>(model, SessionOptions{.batch = count,
                                                                .image_size = image,
                                                                .threads = options.common.threads,
                                                                .attention_maps = wanted.attentions,
                                                                .merge = options.common.merge});
    }
    const Outputs& outputs = session->forward(
        {pixel_values.data() + first * image_floats, {count, config.num_channels, image.height, image.width}},
        &stages);
    write_heads(wanted, outputs, writer);
  }
  writer.finish();
  if (!stages.finite()) {
    throw Error(ErrorCode::not_finite, fmt::format("{}: the network gives NaN or infinity for it (see {})",
                                                   options.input, options.output));
  }
  return kOk;
}

}  // namespace vit::apps
