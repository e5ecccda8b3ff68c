#include "apps/common.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <new>
#include <optional>
#include <string_view>
#include <system_error>

#include "apps/download.hpp"
#include "io/hub_id.hpp"

namespace vit::apps {
namespace fs = std::filesystem;
namespace {

std::string not_empty(const std::string& value) {
  return value.empty() ? "is empty: a variable without a value?" : "";
}

Precision parse_precision(std::string_view name) {
  for (const Precision precision : {Precision::bf16, Precision::int8})
    if (name == to_string(precision)) return precision;
  return Precision::fp32;
}

std::string is_seconds(const std::string& text) {
  double seconds = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, seconds);
  const bool good = error == std::errc() && stop == end && seconds >= 0 && seconds < 1e9;
  return good ? "" : fmt::format("expected a number of seconds, got {}", text);
}

constexpr std::array<const char*, 4> kRowFormats{"text", "json", "jsonl", "csv"};

constexpr const char* kShippedModel = "models/fashion-mnist-vit";

/// Folders that may hold what ships with Vitrine: beside an installed command, else the source tree it was
/// built from.
std::vector<fs::path> data_folders() {
  std::vector<fs::path> folders;
  std::error_code ignored;
  const fs::path self = fs::read_symlink("/proc/self/exe", ignored);
  if (!self.empty()) folders.push_back(self.parent_path().parent_path() / "share" / "vitrine");
  folders.emplace_back(VITRINE_DATA);
  return folders;
}

}  // namespace

ExitCode exit_code(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_argument:
      return kUsage;
    case ErrorCode::model_not_found:
    case ErrorCode::config_invalid:
    case ErrorCode::model_unsupported:
    case ErrorCode::weights_invalid:
    case ErrorCode::download_failed:
      return kModelNotLoaded;
    case ErrorCode::image_not_found:
    case ErrorCode::image_unreadable:
    case ErrorCode::image_empty:
    case ErrorCode::image_unknown:
    case ErrorCode::image_truncated:
    case ErrorCode::image_corrupt:
    case ErrorCode::image_unsupported:
    case ErrorCode::image_too_large:
    case ErrorCode::tensor_invalid:
    case ErrorCode::no_input:
    case ErrorCode::not_finite:
      return kSomeInputsFailed;
    case ErrorCode::output_unwritable:
      return kOutputNotWritten;
    case ErrorCode::verification_failed:
      return kVerificationFailed;
    case ErrorCode::internal:
      return kBug;
  }
  return kBug;
}

Section::Section(CLI::App& command, const std::string& heading)
    : command_(command), before_(command.option_defaults()->get_group()) {
  command_.option_defaults()->group(heading);
}

Section::~Section() {
  command_.option_defaults()->group(before_);
}

void set_examples(CLI::App& command, const std::vector<std::string>& lines, const std::string& notes) {
  std::string text = notes.empty() ? "Examples:" : notes + "\n\nExamples:";
  for (const std::string& line : lines) text += "\n  " + line;
  command.footer(text);
}

void add_input_arguments(CLI::App& command, InputArguments& arguments) {
  const Section section(command, "Inputs");
  command
      .add_option(
          "INPUT", arguments.names,
          "pictures, folders of pictures, patterns, .tar archives, videos, camera:N, or - for a list of "
          "paths on standard input")
      ->required();
  command.add_flag("-r,--recursive", arguments.recursive, "look into sub-folders too");
  command
      .add_option("--every", arguments.frames.every,
                  "of videos and animated GIFs and WebPs, each so many-th frame (default: all of a "
                  "video, the first of an animation)")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40));
  command.add_option("--start", arguments.frames.start, "of videos, only frames from this second on")
      ->check(is_seconds);
  command.add_option("--end", arguments.frames.end, "of videos, only frames before this second")
      ->check(is_seconds);
}

io::InputOptions input_options(const InputArguments& arguments, std::istream* list) {
  return {.recursive = arguments.recursive, .list = list, .frames = arguments.frames};
}

bool reads_list(const InputArguments& arguments) {
  return std::find(arguments.names.begin(), arguments.names.end(), "-") != arguments.names.end();
}

void add_row_options(CLI::App& command, std::string& format, std::string& output) {
  const Section section(command, "Output");
  command
      .add_option("--format", format,
                  "text, json, jsonl or csv (default: as the file's name ends, else text)")
      ->check(CLI::IsMember(kRowFormats));
  command.add_option("-o,--output", output, "write to this file (default: standard output)");
}

std::optional<std::string> format_by_ending(const std::string& output, std::span<const char* const> formats) {
  const std::string ending = fs::path(output).extension().native();
  for (const char* format : formats)
    if (ending == std::string(".") + format) return format;
  return std::nullopt;
}

std::string row_format_of(const std::string& format, const std::string& output) {
  if (!format.empty()) return format;
  return format_by_ending(output, kRowFormats).value_or("text");
}

void add_model_option(CLI::App& command, CommonOptions& options) {
  const Section section(command, "Model");
  command
      .add_option(
          "-m,--model", options.model,
          "model: a Hugging Face folder, a weights file with config.json beside it, a model.onnx that "
          "vitrine export wrote, or the name of a model in the Hugging Face cache, org/name[@revision] "
          "(default: the model that ships with Vitrine)")
      ->check(not_empty);
  command.add_flag("--download", options.download,
                   "fetch the model from the hub if -m names one that is not in the cache");
  command
      .add_option("--arch", options.architecture,
                  "architecture of weights without a config.json, by its name in timm (NAME or NAME.TAG), "
                  "torchvision, DINOv2 or DINOv3")
      ->check(not_empty);
  command
      .add_option("--image-size", options.image_size,
                  "pixels, H or HxW; positions are interpolated (default: what the picture recipe gives)")
      ->check(not_empty);
  command
      .add_option("--patch-size", options.patch_size,
                  "pixels of a patch, H or HxW: the patch embedding is resized (default: as trained)")
      ->check(not_empty);
}

void add_label_option(CLI::App& command, CommonOptions& options) {
  const Section section(command, "Model");
  command.add_option("--labels", options.labels, "text file of labels, one a line, in place of the model's")
      ->check(not_empty);
}

void add_precision_option(CLI::App& command, CommonOptions& options) {
  const Section section(command, "Speed");
  command
      .add_option_function<std::string>(
          "--precision", [&options](const std::string& name) { options.precision = parse_precision(name); },
          "arithmetic of the network's products: fp32, bf16 or int8 (default: int8 of what vitrine quantize "
          "wrote, else fp32)")
      ->check(CLI::IsMember({"fp32", "bf16", "int8"}));
}

void add_merge_option(CLI::App& command, CommonOptions& options) {
  const Section section(command, "Speed");
  command
      .add_option(
          "--merge", options.merge,
          "tokens that every block merges with the ones most like them: faster, less exact (default: none)")
      ->check(CLI::Range(0, 1 << 20));
}

void add_thread_option(CLI::App& command, CommonOptions& options) {
  const Section section(command, "Speed");
  command.add_option("--threads", options.threads, "cores to use (default: all that the process may use)")
      ->check(CLI::Range(1, 1024));
}

void add_verbosity_options(CLI::App& command, CommonOptions& options) {
  command.add_flag("-v,--verbose", options.verbose, "say on stderr what was resolved and how long it took");
  command.add_flag("-q,--quiet", options.quiet, "no notes on stderr; errors remain");
}

std::string not_nan(const std::string& value) {
  return value.find("nan") == std::string::npos ? "" : "is not a number";
}

std::optional<std::int64_t> parse_number(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

Size2 parse_pixels(std::string_view option, const std::string& text) {
  constexpr std::int64_t kMost = 1 << 16;
  const std::size_t x = text.find('x');
  const auto height = parse_number(std::string_view(text).substr(0, x));
  const auto width = x == std::string::npos ? height : parse_number(std::string_view(text).substr(x + 1));
  if (!height || !width || *height < 1 || *width < 1 || *height > kMost || *width > kMost) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{} {}: expected pixels such as 224 or 224x160 (height x width)", option, text));
  }
  return {*height, *width};
}

io::LoadOptions load_options(const CommonOptions& options) {
  io::LoadOptions result{.architecture = options.architecture, .labels = options.labels};
  if (!options.image_size.empty()) result.image_size = parse_pixels("--image-size", options.image_size);
  if (!options.patch_size.empty()) result.patch_size = parse_pixels("--patch-size", options.patch_size);
  return result;
}

bool names_no_weights(const CommonOptions& options) {
  return !options.architecture.empty() && options.model.empty();
}

fs::path model_path(const CommonOptions& options) {
  if (!options.model.empty()) return model_path(options, options.model);
  std::error_code ignored;
  for (const fs::path& folder : data_folders()) {
    if (fs::exists(folder / kShippedModel, ignored)) return folder / kShippedModel;
  }
  throw Error(ErrorCode::model_not_found,
              fmt::format("the model that ships with Vitrine is not in {}; name one with -m",
                          data_folders().back().native()));
}

fs::path model_path(const CommonOptions& options, const std::string& model) {
  std::error_code ignored;
  const auto id = options.download && !fs::exists(model, ignored) ? io::find_hub_id(model) : std::nullopt;
  return id ? download_missing(*id, options.quiet) : fs::path(model);
}

void refuse_overwriting(const std::string& output, const std::vector<std::string>& read) {
  for (const std::string& name : read) {
    std::error_code ignored;  // one of them does not exist: nothing is lost
    if (!output.empty() && fs::is_regular_file(name, ignored) && fs::equivalent(output, name, ignored)) {
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("-o {} is also read: it would be destroyed", output));
    }
  }
}

void print_error(const std::string& message) {
  fmt::print(stderr, "vitrine: {}\n", message);
}

ExitCode report_failure(const std::exception& failure) {
  if (const auto* error = dynamic_cast<const Error*>(&failure)) {
    print_error(error->what());
    return exit_code(error->code());
  }
  if (dynamic_cast<const std::bad_alloc*>(&failure) != nullptr) {
    print_error("not enough memory; a smaller --batch or picture needs less");
    return kSomeInputsFailed;
  }
  print_error(std::string("unexpected: ") + failure.what());
  return kBug;
}

void report_precision(const CommonOptions& options, const Model& model) {
  if (options.quiet || model.precision_note().empty()) return;
  const std::string asked =
      options.precision ? fmt::format("--precision {}", to_string(*options.precision)) : "8-bit weights";
  print_error(fmt::format("note: {}: {}", asked, model.precision_note()));
}

void report_notes(const CommonOptions& options, const std::vector<std::string>& notes) {
  if (options.quiet) return;
  for (const std::string& note : notes) print_error("note: " + note);
}

void report_model(const CommonOptions& options, const io::CheckpointInfo& info) {
  if (options.verbose) {
    print_error(io::describe(info));
  } else {
    report_notes(options, info.notes);
  }
}

}  // namespace vit::apps
