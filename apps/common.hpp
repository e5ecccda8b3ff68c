// What every subcommand shares: exit codes, error printing, the model option.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>

#include "vit/error.hpp"

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

/// Options that most subcommands have.
struct CommonOptions {
  std::string model;  ///< as given; empty: the model that ships with Vitrine
  int threads = 0;    ///< 0: all cores that the process may use
  std::string precision = "fp32";
  bool verbose = false;
  bool quiet = false;
};

void add_model_option(CLI::App& command, CommonOptions& options);
/// --precision fp32, the only one so far.
void add_precision_option(CLI::App& command, CommonOptions& options);
void add_thread_option(CLI::App& command, CommonOptions& options);
void add_verbosity_options(CLI::App& command, CommonOptions& options);

/// The path behind -m, or that of the shipped model. Throws Error(model_not_found) where that was not
/// installed.
std::filesystem::path model_path(const CommonOptions& options);

/// One line on stderr: "vitrine: MESSAGE".
void print_error(const std::string& message);
/// As print_error, unless --quiet.
void print_note(const CommonOptions& options, const std::string& message);

}  // namespace vit::apps
