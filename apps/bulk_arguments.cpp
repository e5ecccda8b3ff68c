#include "apps/bulk_arguments.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <istream>

#include "apps/stop_signal.hpp"
#include "apps/terminal.hpp"

namespace vit::apps {
namespace {

/// "2/8" of --shard.
io::Shard parse_shard(const std::string& text) {
  const std::size_t slash = text.find('/');
  const auto number = parse_number(std::string_view(text).substr(0, slash));
  const auto count =
      slash == std::string::npos ? std::nullopt : parse_number(std::string_view(text).substr(slash + 1));
  if (!number || !count || *number < 1 || *number > *count)
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("--shard {}: expected NUMBER/COUNT from 1/COUNT to COUNT/COUNT, such as 2/8", text));
  return {*number, *count};
}

}  // namespace

void add_bulk_options(CLI::App& command, BulkArguments& arguments) {
  command.add_flag("!--no-progress", arguments.progress, "no progress on the terminal");
  const Section section(command, "Speed");
  command.add_option_function<std::string>(
      "--shard", [&arguments](const std::string& text) { arguments.shard = parse_shard(text); },
      "only part NUMBER/COUNT of the inputs, such as 2/8: every eighth, from the second on");
  add_batch_options(command, arguments);
}

void add_batch_options(CLI::App& command, BulkArguments& arguments) {
  command.add_option("--batch", arguments.batch, "most pictures that go through the network together")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
}

io::InputSource bulk_inputs(const InputArguments& inputs, const BulkArguments& arguments,
                            std::istream& list) {
  io::InputOptions options = input_options(inputs, &list);
  options.shard = arguments.shard;
  return io::InputSource(inputs.names, options);
}

int run_stoppable(const std::function<int(std::istream& list)>& run) {
  const StopSignal stop_signal;
  StoppableInput buffer;
  std::istream list(&buffer);
  return run(list);
}

io::BulkLimits bulk_limits(const BulkArguments& arguments, const CommonOptions& common) {
  return {.cores = common.threads, .batch = static_cast<std::size_t>(arguments.batch), .stop = [] {
            return StopSignal::received() != 0;
          }};
}

void RunReport::continue_behind(std::int64_t rows, std::int64_t failures) {
  rows_ = rows;
  failures_ = failures;
}

void RunReport::count(const std::optional<Error>& error) {
  ++rows_;
  if (error) {
    ++failures_;
    progress_.clear();
    print_error(error->what());
  }
  progress_.advance(error.has_value());
}

int RunReport::exit_code() const {
  const int signal = StopSignal::received();
  if (signal != 0) return 128 + signal;
  return failures_ == 0 ? kOk : kSomeInputsFailed;
}

std::string RunReport::summary() const {
  return fmt::format("{} pictures, {} failed", rows_, failures_);
}

bool wants_progress(const BulkArguments& arguments, const CommonOptions& common, const std::string& output) {
  return arguments.progress && !common.quiet && !(is_terminal(stdout) && !names_file(output));
}

bool names_file(const std::string& output) {
  return !output.empty() && output != "-";
}

}  // namespace vit::apps
