// What every subcommand shares: exit codes, error printing, the model option.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/checkpoint.hpp"
#include "io/inputs.hpp"
#include "vit/error.hpp"
#include "vit/model.hpp"

namespace vit::apps {

/// The exit codes of the command, as the README lists them.
enum ExitCode : int {
  kOk = 0,
  kSomeInputsFailed = 1,
  kUsage = 2,
  kModelNotLoaded = 3,
  kOutputNotWritten = 4,
  kVerificationFailed = 5,
  kBug = 70,
};

/// The code that an error ends the whole command with.
ExitCode exit_code(ErrorCode code);

/// While it lives, the options that are added to the command are listed under this heading by --help.
class Section {
 public:
  Section(CLI::App& command, const std::string& heading);
  ~Section();
  Section(const Section&) = delete;
  Section& operator=(const Section&) = delete;

 private:
  CLI::App& command_;
  std::string before_;
};

/// The end of --help: command lines, each with " # " and what it gives. A test runs all of them
/// (tests/cli/readme_test.py).
void set_examples(CLI::App& command, const std::vector<std::string>& lines, const std::string& notes = {});

/// Options that most subcommands have.
struct CommonOptions {
  std::string model;                   ///< as given; empty: the model that ships with Vitrine
  std::string architecture;            ///< --arch
  std::string image_size;              ///< --image-size, as given
  std::string patch_size;              ///< --patch-size, as given
  std::string labels;                  ///< --labels
  bool download = false;               ///< --download
  int threads = 0;                     ///< 0: all cores that the process may use
  std::optional<Precision> precision;  ///< --precision; nothing: what the weights are stored for
  std::int64_t merge = 0;              ///< --merge: tokens that every block merges
  bool verbose = false;
  bool quiet = false;
};

/// What to look at.
struct InputArguments {
  std::vector<std::string> names;
  bool recursive = false;
  io::FrameOptions frames = {};
};

/// INPUT…, -r, and --every, --start and --end of videos.
void add_input_arguments(CLI::App& command, InputArguments& arguments);
/// `list` is what "-" reads; without one "-" is the name of a file.
io::InputOptions input_options(const InputArguments& arguments, std::istream* list = nullptr);
/// Whether they name a list on standard input, whose lines are answered as they come.
bool reads_list(const InputArguments& arguments);
/// --format text, json, jsonl or csv, and -o.
void add_row_options(CLI::App& command, std::string& format, std::string& output);
/// The one of `formats` that the name ends in, behind a dot.
std::optional<std::string> format_by_ending(const std::string& output, std::span<const char* const> formats);
/// What --format says, else the ending of the file, else text.
std::string row_format_of(const std::string& format, const std::string& output);
/// -m, --download, --arch, --image-size and --patch-size.
void add_model_option(CLI::App& command, CommonOptions& options);
void add_label_option(CLI::App& command, CommonOptions& options);
/// --precision fp32, bf16 or int8.
void add_precision_option(CLI::App& command, CommonOptions& options);
/// --merge R.
void add_merge_option(CLI::App& command, CommonOptions& options);
void add_thread_option(CLI::App& command, CommonOptions& options);
void add_verbosity_options(CLI::App& command, CommonOptions& options);

/// Check of an option: CLI::Range alone lets nan through.
std::string not_nan(const std::string& value);

/// A whole number, nothing if the text is anything else.
std::optional<std::int64_t> parse_number(std::string_view text);

/// "224" or "224x160", height first. Throws Error(invalid_argument) that names the option.
Size2 parse_pixels(std::string_view option, const std::string& text);

/// --arch, --image-size, --patch-size and --labels. Throws Error(invalid_argument).
io::LoadOptions load_options(const CommonOptions& options);

/// Whether only an architecture is named (--arch without -m): then there are no weights.
bool names_no_weights(const CommonOptions& options);

/// The path or hub id behind -m, or the path of the shipped model; with --download the folder of a hub id,
/// which is fetched where the cache does not have it. Throws Error(model_not_found) where the shipped one was
/// not installed, and as io::pull_model.
std::filesystem::path model_path(const CommonOptions& options);

/// The same for a model that is named in another place than -m.
std::filesystem::path model_path(const CommonOptions& options, const std::string& model);

/// Throws Error(invalid_argument) if writing `output` would destroy one of the files that are to be read.
void refuse_overwriting(const std::string& output, const std::vector<std::string>& read);

/// One line on stderr: "vitrine: MESSAGE".
void print_error(const std::string& message);

/// Prints what ended the command and gives the code to end with.
ExitCode report_failure(const std::exception& failure);

/// On stderr: why the products are not in the precision that was asked for or that the weights are stored
/// for, unless with -q.
void report_precision(const CommonOptions& options, const Model& model);

/// On stderr, unless with -q.
void report_notes(const CommonOptions& options, const std::vector<std::string>& notes);

/// On stderr: all that was resolved with -v, else only what is unusual about this model, nothing with -q.
void report_model(const CommonOptions& options, const io::CheckpointInfo& info);

}  // namespace vit::apps
