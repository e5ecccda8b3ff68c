#include "apps/cmd_embed.hpp"

#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <memory>

#include "apps/embedding_names.hpp"
#include "apps/embedding_output.hpp"
#include "apps/load_model.hpp"
#include "apps/stop_signal.hpp"
#include "io/inputs.hpp"

namespace vit::apps {
namespace {

constexpr std::array<const char*, 3> kFormats{"npy", "safetensors", "jsonl"};

const std::map<std::string, io::EmbeddingPool> kPools{{"features", io::EmbeddingPool::features},
                                                      {"cls", io::EmbeddingPool::cls},
                                                      {"mean", io::EmbeddingPool::mean},
                                                      {"none", io::EmbeddingPool::patches}};

std::string format_of(const EmbedOptions& options) {
  if (!options.format.empty()) {
    if (options.format != "jsonl" && !names_file(options.output)) {
      throw Error(
          ErrorCode::invalid_argument,
          fmt::format("--format {} needs -o FILE: only jsonl goes to standard output", options.format));
    }
    return options.format;
  }
  if (!names_file(options.output)) return "jsonl";
  if (const auto format = format_by_ending(options.output, kFormats)) return *format;
  throw Error(ErrorCode::invalid_argument,
              fmt::format("-o {}: expected a name that ends in .npy, .safetensors or .jsonl, or --format",
                          options.output));
}

/// Of a file without pictures.
Shape row_shape(const EmbeddingOrigin& origin, const ModelConfig& config) {
  if (origin.options.pool == io::EmbeddingPool::patches)
    return {config.num_patches(config.image_size), config.hidden_size};
  return {std::ssize(origin.test_picture)};
}

std::unique_ptr<EmbeddingOutput> make_output(const EmbedOptions& options, const std::string& format,
                                             const std::filesystem::path& path,
                                             const std::shared_ptr<const io::PictureModel>& model) {
  if (format == "jsonl") return make_json_embeddings(options.output);
  const EmbeddingOrigin origin =
      embedding_origin(options.common, path, {options.pool, options.normalize, options.common.merge}, model);
  return make_array_embeddings(format, options.output, origin, row_shape(origin, model->info().config));
}

/// What was asked for, whatever destroys none of it.
void refuse_overwriting(const EmbedOptions& options, const std::string& format) {
  std::vector<std::string> written{options.output};
  if (format != "jsonl") written.push_back(names_path(options.output).string());
  for (const std::string& file : written) {
    vit::apps::refuse_overwriting(file, options.inputs.names);
    vit::apps::refuse_overwriting(file, {options.common.model});
  }
}

void report_stop(const EmbedOptions& options, const RunReport& report) {
  std::string text = fmt::format("stopped after {} pictures", report.rows());
  if (names_file(options.output)) text += fmt::format(", which are in {}", options.output);
  print_error(text);
}

}  // namespace

void add_embed(CLI::App& app, int& result) {
  auto options = std::make_shared<EmbedOptions>();
  CLI::App& command = *app.add_subcommand("embed", "write the numbers that stand for each picture");
  add_input_arguments(command, options->inputs);
  add_model_option(command, options->common);
  command.add_option("-o,--output", options->output,
                     "x.npy, x.safetensors or x.jsonl (default: jsonl on standard output); the first two get "
                     "x.npy.jsonl beside them, with the picture of each row");
  command
      .add_option("--format", options->format, "npy, safetensors or jsonl (default: as the file's name ends)")
      ->check(CLI::IsMember(kFormats));
  command
      .add_option_function<std::string>(
          "--pool", [options](const std::string& name) { options->pool = kPools.at(name); },
          "features: what the model's head is given, or its pooler gives; cls: the class token; mean: of the "
          "patches' tokens; none: every patch's token, [patches, D] (default: features)")
      ->check(CLI::IsMember(kPools));
  command
      .add_flag_callback(
          "--patches", [options] { options->pool = io::EmbeddingPool::patches; }, "the same as --pool none")
      ->excludes("--pool");
  command.add_flag("--normalize", options->normalize, "every vector divided by its length (L2)");
  add_bulk_options(command, options->bulk);
  add_precision_option(command, options->common);
  add_merge_option(command, options->common);
  add_thread_option(command, options->common);
  add_verbosity_options(command, options->common);
  set_examples(command, {"vitrine embed photos -r -o photos.npy",
                         "vitrine embed cat.jpg --normalize  # JSON lines on standard output"});
  command.callback([options, &result] {
    result = run_stoppable([&](std::istream& list) { return run_embed(*options, list); });
  });
}

int run_embed(const EmbedOptions& options, std::istream& list) {
  const std::string format = format_of(options);
  refuse_overwriting(options, format);
  const std::filesystem::path path = model_path(options.common);
  const std::shared_ptr<const io::PictureModel> model = load_picture_model(options.common, path);
  const std::unique_ptr<EmbeddingOutput> output = make_output(options, format, path, model);
  io::InputSource inputs = bulk_inputs(options.inputs, options.bulk, list);
  RunReport report(wants_progress(options.bulk, options.common, options.output), inputs);
  const bool answers_a_list = reads_list(options.inputs);

  const auto write = [&](io::Embedding embedding) {
    if (!embedding.error) {
      try {
        output->add(embedding);
      } catch (const Error& e) {
        if (e.code() != ErrorCode::image_unsupported) throw;
        embedding.error = e;
      }
    }
    report.count(embedding.error);
    if (embedding.error) output->add_error(embedding, *embedding.error);
    if (answers_a_list) output->flush();
  };
  const io::BulkTimes times =
      io::embed_pictures(model, {options.pool, options.normalize, options.common.merge}, inputs,
                         bulk_limits(options.bulk, options.common), write);
  report.finish();
  output->finish();
  if (StopSignal::received() != 0) report_stop(options, report);
  if (options.common.verbose) print_error(fmt::format("{}; {}", report.summary(), io::describe(times)));
  return report.exit_code();
}

}  // namespace vit::apps
