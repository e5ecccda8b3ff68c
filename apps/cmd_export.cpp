#include "apps/cmd_export.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "apps/load_model.hpp"
#include "apps/output.hpp"
#include "export/calibrate.hpp"
#include "export/onnx_export.hpp"
#include "export/onnx_import.hpp"
#include "io/classifier.hpp"
#include "io/inputs.hpp"
#include "io/model_metadata.hpp"
#include "vit/session.hpp"

namespace vit::apps {
namespace {

namespace fs = std::filesystem;
using exporter::GraphOptions;
using exporter::GraphOutput;
using exporter::WeightStorage;

constexpr std::int64_t kMostCalibrationPictures = 256;

[[noreturn]] void misuse(const std::string& what) {
  throw Error(ErrorCode::invalid_argument, what);
}

/// Whole patches, of a size that the network takes.
Size2 parse_image_size(const std::string& text, const ModelConfig& config) {
  const Size2 image = parse_pixels("--image-size", text);
  const Size2 patch = config.patch_size;
  if (image.height % patch.height != 0 || image.width % patch.width != 0) {
    misuse(
        fmt::format("--image-size {}: {}x{} pixels are not a whole number of this model's patches of {}x{}",
                    text, image.height, image.width, patch.height, patch.width));
  }
  config.validate_image(image);
  return image;
}

/// What the recipe makes of every picture, if that is one size.
std::optional<Size2> recipe_size(const io::CheckpointInfo& info) {
  if (!info.recipe) return std::nullopt;
  if (info.recipe->crop) return info.recipe->crop;
  if (info.recipe->resize == io::ResizeMode::exact) return info.recipe->size;
  return std::nullopt;
}

/// Bytes in the graph's input: (byte · rescale − mean) / std.
exporter::ByteInput byte_input(const io::CheckpointInfo& info) {
  if (!info.recipe)
    misuse("--input uint8: the model has no picture recipe, which says how bytes are normalised");
  if (info.config.num_channels != 3) misuse("--input uint8: the model takes other pictures than RGB");
  const io::PreprocessConfig& recipe = *info.recipe;
  exporter::ByteInput input;
  for (std::size_t c = 0; c < 3; ++c) {
    const double factor = recipe.rescale ? recipe.rescale_factor : 1.0;
    const double mean = recipe.normalize ? recipe.mean[c] : 0.0;
    const double std = recipe.normalize ? recipe.std[c] : 1.0;
    input.scale.push_back(static_cast<float>(factor / std));
    input.offset.push_back(static_cast<float>(-mean / std));
  }
  return input;
}

WeightStorage parse_weights(const std::string& text) {
  for (const WeightStorage storage : {WeightStorage::fp32, WeightStorage::fp16, WeightStorage::int8}) {
    if (to_string(storage) == text) return storage;
  }
  misuse("--weights " + text);
}

std::vector<GraphOutput> parse_outputs(const std::vector<std::string>& names) {
  std::vector<GraphOutput> outputs;
  for (const GraphOutput output :
       {GraphOutput::logits, GraphOutput::probabilities, GraphOutput::features,
        GraphOutput::last_hidden_state, GraphOutput::hidden_states, GraphOutput::attentions}) {
    if (std::find(names.begin(), names.end(), to_string(output)) != names.end()) outputs.push_back(output);
  }
  return outputs;
}

GraphOptions graph_options(const ExportCommandOptions& options, const io::CheckpointInfo& info) {
  GraphOptions graph;
  graph.opset = options.opset;
  if (options.batch != "dynamic") {
    graph.batch = parse_number(options.batch);
    if (!graph.batch) misuse(fmt::format("--batch {}: expected dynamic or a number", options.batch));
  }
  graph.image_size = options.common.image_size.empty()
                         ? recipe_size(info).value_or(info.config.image_size)
                         : parse_image_size(options.common.image_size, info.config);
  graph.weights = options.int8_qdq.empty() ? parse_weights(options.weights) : WeightStorage::int8;
  if (options.input == "uint8") graph.byte_input = byte_input(info);
  graph.outputs = parse_outputs(options.outputs);
  graph.score_function = info.score_function;
  return graph;
}

/// Ranges from the pictures of --int8-qdq, by the model's own recipe.
exporter::ActivationRanges calibrate(const ExportCommandOptions& options, const io::Checkpoint& checkpoint,
                                     GraphOptions graph_options) {
  if (!checkpoint.info.recipe) misuse("--int8-qdq: the model has no picture recipe");
  graph_options.weights = WeightStorage::fp32;
  graph_options.byte_input.reset();
  graph_options.batch.reset();
  const exporter::Graph graph = vit_graph(checkpoint.info.config, checkpoint.weights, graph_options);
  io::InputSource pictures({options.int8_qdq}, {.recursive = true});
  std::int64_t taken = 0;
  const auto next = [&]() -> std::optional<Tensor> {
    while (taken < kMostCalibrationPictures) {
      std::optional<io::Input> input = pictures.next();
      if (!input) return std::nullopt;
      try {
        Tensor picture = io::load_pixel_values(*std::move(input), *checkpoint.info.recipe);
        ++taken;
        return picture;
      } catch (const Error& e) {
        print_error(std::string("left out of the calibration: ") + e.what());
      }
    }
    return std::nullopt;
  };
  const int threads = options.common.threads > 0 ? options.common.threads : available_threads();
  exporter::ActivationRanges ranges = exporter::calibrate(graph, next, threads);
  if (!options.common.quiet)
    print_error(fmt::format("calibrated on {} pictures of {}", taken, options.int8_qdq));
  return ranges;
}

/// What travels in the file: io's keys, the user's, and what only the exporter knows.
exporter::Metadata metadata(const ExportCommandOptions& options, const io::CheckpointInfo& info,
                            const GraphOptions& graph) {
  exporter::Metadata all = io::write_metadata(info, exporter::graph_config(info.config, graph));
  all.emplace_back("batch", graph.batch ? std::to_string(*graph.batch) : "dynamic");
  all.emplace_back("vit.weights", graph.ranges.empty() ? std::string(to_string(graph.weights)) : "int8-qdq");
  all.emplace_back("vit.input", options.input);
  if (graph.byte_input) {
    std::erase_if(all, [](const auto& pair) { return pair.first == "Image.NominalPixelRange"; });
    all.emplace_back("Image.NominalPixelRange", "NominalRange_0_255");
  }
  std::set<std::string> taken;
  for (const auto& [key, value] : all) taken.insert(key);
  for (const std::string& pair : options.meta) {
    const std::size_t equals = pair.find('=');
    if (equals == std::string::npos || equals == 0)
      misuse(fmt::format("--meta {}: expected KEY=VALUE", pair));
    if (!io::is_utf8(pair))
      misuse("--meta: the metadata of ONNX files is UTF-8, and one of the pairs is not");
    const std::string key = pair.substr(0, equals);
    if (key.starts_with("vit.") || !taken.insert(key).second)
      misuse(fmt::format("--meta {}: the key {} is taken", pair, key));
    all.emplace_back(key, pair.substr(equals + 1));
  }
  return all;
}

exporter::ExternalWeights parse_external(const std::string& text) {
  if (text == "never") return exporter::ExternalWeights::never;
  return text == "auto" ? exporter::ExternalWeights::automatic : exporter::ExternalWeights::always;
}

std::string label_lines(const io::Labels& labels) {
  std::string text;
  for (std::int64_t i = 0; i < labels.size(); ++i) {
    std::string name = labels.name(i);
    std::replace(name.begin(), name.end(), '\n', ' ');
    text += name + '\n';
  }
  return text;
}

using SideFiles = std::vector<std::pair<fs::path, std::string>>;

SideFiles side_files(const ExportCommandOptions& options, const io::CheckpointInfo& info,
                     const GraphOptions& graph) {
  if (!options.side_files) return {};
  const fs::path folder = fs::path(options.output).parent_path();
  SideFiles files;
  files.emplace_back(folder / "config.json",
                     to_config_json(info, exporter::graph_config(info.config, graph)));
  if (exporter::graph_config(info.config, graph).num_classes > 0)
    files.emplace_back(folder / "labels.txt", label_lines(info.labels));
  if (info.recipe) {
    if (const auto json = io::to_preprocessor_config(*info.recipe))
      files.emplace_back(folder / "preprocessor_config.json", *json + '\n');
  }
  const std::vector<fs::path> read = files_read(options.common, info);
  for (const auto& [path, text] : files) {
    refuse_destroying(path, read);
    std::error_code ignored;
    if (!options.force && fs::exists(path, ignored)) {
      throw Error(
          ErrorCode::output_unwritable,
          fmt::format("{}: cannot be written: it exists already; --force replaces it", path.string()));
    }
  }
  return files;
}

// ------------------------------------------------------------------------------------------ report

std::string difference_line(const exporter::OutputDifference& d) {
  std::string line = fmt::format("batch {}: max |Δ {}| {:.2g} (largest value {:.3g})", d.batch, d.output,
                                 d.largest, d.magnitude);
  if (d.same_top1) line += fmt::format(", same top-1 {} of {}", *d.same_top1, d.batch);
  return line;
}

std::string size_text(std::uint64_t bytes) {
  const auto size = static_cast<double>(bytes);
  return size < 1e6 ? fmt::format("{:.1f} kB", size / 1e3) : fmt::format("{:.1f} MB", size / 1e6);
}

std::string report_text(const exporter::ExportReport& report) {
  std::string text =
      fmt::format("{}: {}, opset {}, IR {}, {} nodes\n", report.model.string(), size_text(report.model_bytes),
                  report.opset, report.ir_version, report.nodes);
  if (report.data) {
    text += fmt::format("{}: {}, its weights; keep both together, by these names\n", report.data->string(),
                        size_text(report.data_bytes));
  }
  for (const auto& value : report.inputs)
    text +=
        fmt::format("input {} {} {}\n", value.name, to_string(value.type), exporter::to_string(value.shape));
  for (const auto& value : report.outputs)
    text +=
        fmt::format("output {} {} {}\n", value.name, to_string(value.type), exporter::to_string(value.shape));
  text += fmt::format("checked: {}\n", report.checked);
  if (report.differences.empty()) text += "not verified numerically (--no-verify)\n";
  for (const auto& d : report.differences)
    text += "verified against the engine, " + difference_line(d) + '\n';
  for (const auto& d : report.rounding) text += "against unrounded weights, " + difference_line(d) + '\n';
  return text;
}

using Json = nlohmann::ordered_json;

Json differences_json(const std::vector<exporter::OutputDifference>& differences) {
  Json json = Json::array();
  for (const auto& d : differences) {
    json.push_back({{"output", d.output},
                    {"batch", d.batch},
                    {"max_abs_difference", d.largest},
                    {"max_abs_value", d.magnitude}});
    if (d.same_top1) json.back()["same_top1"] = *d.same_top1;
  }
  return json;
}

std::string report_json(const exporter::ExportReport& report) {
  Json json{{"model", report.model.native()}, {"model_bytes", report.model_bytes}};
  if (report.data) json.update({{"data", report.data->native()}, {"data_bytes", report.data_bytes}});
  json.update({{"opset", report.opset},
               {"ir_version", report.ir_version},
               {"nodes", report.nodes},
               {"checked", report.checked}});
  json["differences"] = differences_json(report.differences);
  json["rounding"] = differences_json(report.rounding);
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

/// What a user of these options should know beforehand.
void warn(const CommonOptions& common, const io::CheckpointInfo& info, const GraphOptions& graph) {
  if (common.quiet) return;
  if (info.precision == Precision::int8 && graph.weights != WeightStorage::int8) {
    print_error(
        "note: the model's 8-bit weights are written as the numbers that they stand for; --weights int8 "
        "keeps "
        "a quarter of the size");
  }
  if (graph.weights == WeightStorage::int8 && graph.ranges.empty()) {
    print_error(
        "note: 8-bit weights are slower than fp32 in ONNX Runtime 1.17 and 1.20, and in 1.32 on processors "
        "without "
        "VNNI; 1.32 rounds activations as well, unless session.qdq_matmulnbits_accuracy_level is 1");
  }
}

void add_graph_options(CLI::App& command, ExportCommandOptions& options) {
  command.add_option("--opset", options.opset, "13, 17, 20 or 23; newer ones run in fewer programs")
      ->check(CLI::IsMember({13, 17, 20, 23}))
      ->capture_default_str();
  command.add_option("--batch", options.batch, "dynamic, or a fixed number of pictures")
      ->capture_default_str();
  command.add_option("--weights", options.weights, "fp32, fp16 (half the size) or int8 (a quarter)")
      ->check(CLI::IsMember({"fp32", "fp16", "int8"}))
      ->capture_default_str();
  command.add_option(
      "--int8-qdq", options.int8_qdq,
      "folder of pictures: 8-bit arithmetic in linear layers, calibrated on up to 256 of them");
  command.add_option("--input", options.input, "float [batch, 3, H, W], or uint8 [batch, H, W, 3] RGB bytes")
      ->check(CLI::IsMember({"float", "uint8"}))
      ->capture_default_str();
  command
      .add_option("--outputs", options.outputs,
                  "comma-separated, of: logits, probabilities, features, last_hidden_state, hidden_states, "
                  "attentions "
                  "(default: logits; features and last_hidden_state of a model without a head)")
      ->delimiter(',')
      ->check(CLI::IsMember(
          {"logits", "probabilities", "features", "last_hidden_state", "hidden_states", "attentions"}));
}

void add_file_options(CLI::App& command, ExportCommandOptions& options) {
  command
      .add_option(
          "--external-data", options.external_data,
          "weights in a file of their own beside the model: auto (the default: from 1.9 GB), always or "
          "never; alone: always")
      ->expected(0, 1)
      ->transform([](const std::string& value) {
        return value.empty() || value == "true" ? std::string("always") : value;
      })
      ->check(CLI::IsMember({"auto", "always", "never"}));  // a default_str would be the meaning of no value
  command.add_option("--meta", options.meta, "KEY=VALUE for the file's metadata, may be repeated")
      ->expected(1)
      ->take_all();
  command.add_flag("--side-files", options.side_files,
                   "also write labels.txt, config.json and preprocessor_config.json");
  command.add_flag("--force", options.force, "replace files that exist");
  command.add_flag("--no-verify", options.no_verify, "check the structure only, not the numbers");
  command.add_option("--format", options.format, "of the report: text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
}

}  // namespace

void add_export(CLI::App& app, int& result) {
  auto options = std::make_shared<ExportCommandOptions>();
  CLI::App& command = *app.add_subcommand("export", "write the network as an ONNX file, verified");
  add_model_option(command, options->common);
  add_label_option(command, options->common);
  command.add_option("-o,--output", options->output, "the file to write, such as model.onnx")->required();
  add_graph_options(command, *options);
  add_file_options(command, *options);
  add_thread_option(command, options->common);
  add_verbosity_options(command, options->common);
  set_examples(command,
               {"vitrine export -m my-model -o model.onnx",
                "vitrine export -m my-model -o half.onnx --weights fp16 --side-files",
                "vitrine export -m my-model -o 8bit.onnx --int8-qdq photos  # 8-bit arithmetic, calibrated"});
  command.callback([options, &result] { result = run_export(*options); });
}

int run_export(const ExportCommandOptions& options) {
  refuse_overwriting(options.output, {options.common.model, options.common.labels});
  io::Checkpoint checkpoint = load_model(model_path(options.common), load_options(options.common));
  io::CheckpointInfo& info = checkpoint.info;
  report_model(options.common, info);
  refuse_destroying(options.output, files_read(options.common, info));

  exporter::ExportOptions to;
  to.graph = graph_options(options, info);
  if (info.recipe && recipe_size(info) != to.graph.image_size)
    info.recipe = io::resized(*info.recipe, to.graph.image_size);
  if (!options.int8_qdq.empty()) to.graph.ranges = calibrate(options, checkpoint, to.graph);
  to.external_weights = parse_external(options.external_data);
  to.overwrite = options.force;
  to.verify = !options.no_verify;
  to.threads = options.common.threads;
  to.model_name = info.family;
  to.producer_version = VITRINE_VERSION;
  to.metadata = metadata(options, info, to.graph);
  const SideFiles beside = side_files(options, info, to.graph);
  warn(options.common, info, to.graph);

  const exporter::ExportReport report = export_onnx(info.config, checkpoint.weights, options.output, to);
  for (const auto& [path, text] : beside) write_file_atomically(path, text);
  Output output({});
  output.write(options.format == "json" ? report_json(report) : report_text(report));
  output.finish();
  return kOk;
}

}  // namespace vit::apps
