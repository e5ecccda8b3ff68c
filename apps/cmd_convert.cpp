#include "apps/cmd_convert.hpp"

#include <fmt/format.h>

#include <memory>

#include "apps/load_model.hpp"
#include "apps/output.hpp"
#include "io/checkpoint_writer.hpp"

namespace vit::apps {
namespace {

std::optional<DType> parse_dtype(const std::string& text) {
  if (text == "fp32") return DType::f32;
  if (text == "fp16") return DType::f16;
  if (text == "bf16") return DType::bf16;
  return std::nullopt;
}

std::string_view name_of(DType dtype) {
  return dtype == DType::f32 ? "fp32" : dtype == DType::f16 ? "fp16" : "bf16";
}

}  // namespace

void add_convert(CLI::App& app, int& result) {
  auto options = std::make_shared<ConvertOptions>();
  CLI::App& command =
      *app.add_subcommand("convert", "write a model as a folder that transformers or timm opens");
  add_model_option(command, options->common);
  command.add_option("-o,--output", options->output, "the folder to write")->required();
  command.add_option("--dtype", options->dtype, "of the weights: fp32, fp16 or bf16 (default: as stored)")
      ->check(CLI::IsMember({"fp32", "fp16", "bf16"}));
  command
      .add_option("--to", options->to,
                  "auto: folders of Hugging Face and timm keep their form, other files become Hugging Face "
                  "folders; transformers: a Hugging Face folder")
      ->check(CLI::IsMember({"auto", "transformers"}))
      ->capture_default_str();
  command.add_flag("--force", options->force, "replace files that exist");
  add_verbosity_options(command, options->common);
  set_examples(command, {"vitrine convert -m my-model -o half-precision --dtype fp16"});
  command.callback([options, &result] { result = run_convert(*options); });
}

int run_convert(const ConvertOptions& options) {
  const io::Checkpoint checkpoint = load_model(model_path(options.common), load_options(options.common));
  report_model(options.common, checkpoint.info);
  const io::WriteReport report = io::write_checkpoint(checkpoint, options.output,
                                                      {.dtype = parse_dtype(options.dtype),
                                                       .transformers = options.to == "transformers",
                                                       .overwrite = options.force});
  report_notes(options.common, report.notes);
  Output output({});
  output.write(fmt::format("{}: {} tensors, {}\n", options.output, report.tensors, name_of(report.dtype)));
  for (const auto& file : report.files) output.write(fmt::format("  {}\n", file.filename().string()));
  output.finish();
  return kOk;
}

}  // namespace vit::apps
