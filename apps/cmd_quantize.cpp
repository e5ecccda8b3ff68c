#include "apps/cmd_quantize.hpp"

#include <fmt/format.h>

#include <memory>

#include "apps/load_model.hpp"
#include "apps/output.hpp"
#include "io/checkpoint_writer.hpp"

namespace vit::apps {
namespace {

namespace fs = std::filesystem;

double megabytes(const fs::path& file) {
  std::error_code ignored;
  const std::uintmax_t bytes = fs::file_size(file, ignored);
  return ignored ? 0 : static_cast<double>(bytes) / 1e6;
}

/// Neither --force nor a link writes over the model that is read.
void refuse_own_folder(const QuantizeOptions& options, const io::CheckpointInfo& info) {
  const std::vector<fs::path> read = files_read(options.common, info);
  for (const char* name :
       {"model.safetensors", "config.json", "preprocessor_config.json", "processor_config.json"})
    refuse_destroying(fs::path(options.output) / name, read);
}

std::string report_text(const QuantizeOptions& options, const io::CheckpointInfo& info,
                        const io::WriteReport& report) {
  double before = 0;
  for (const fs::path& file : info.weight_files) before += megabytes(file);
  std::string text = fmt::format(
      "{}: {} tensors, {} of them int8 with a scale for each output; {:.1f} MB of weights, from "
      "{:.1f} MB of {}\n",
      options.output, report.tensors, report.rounded, megabytes(report.files.front()), before,
      info.stored_dtype);
  for (const fs::path& file : report.files) text += fmt::format("  {}\n", file.filename().string());
  return text;
}

}  // namespace

void add_quantize(CLI::App& app, int& result) {
  auto options = std::make_shared<QuantizeOptions>();
  CLI::App& command = *app.add_subcommand(
      "quantize", "write a model with 8-bit weights: a quarter of the size, the numbers of --precision int8");
  add_model_option(command, options->common);
  command.add_option("-o,--output", options->output, "the folder to write, for -m of every command")
      ->required();
  command.add_flag("--force", options->force, "replace files that exist, but never the model's own");
  add_verbosity_options(command, options->common);
  set_examples(command, {"vitrine quantize -m my-model -o int8 && vitrine classify cat.jpg -m int8"});
  command.callback([options, &result] { result = run_quantize(*options); });
}

int run_quantize(const QuantizeOptions& options) {
  const io::Checkpoint checkpoint = load_model(model_path(options.common), load_options(options.common));
  report_model(options.common, checkpoint.info);
  refuse_own_folder(options, checkpoint.info);
  const io::WriteReport report =
      io::write_checkpoint(checkpoint, options.output,
                           {.dtype = {},
                            .overwrite = options.force,
                            .matrices = io::MatrixStorage::int8,
                            .producer = std::string("vitrine ") + VITRINE_VERSION});
  report_notes(options.common, report.notes);
  Output output({});
  output.write(report_text(options, checkpoint.info, report));
  output.finish();
  return kOk;
}

}  // namespace vit::apps
