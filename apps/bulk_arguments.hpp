// Options and reports that commands over any number of pictures share.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <optional>
#include <string>

#include "apps/common.hpp"
#include "apps/progress.hpp"
#include "io/bulk.hpp"
#include "io/inputs.hpp"
#include "vit/error.hpp"

namespace vit::apps {

struct BulkArguments {
  io::Shard shard;
  std::int64_t batch = 2;
  bool progress = true;
};

/// --batch and --no-progress.
void add_batch_options(CLI::App& command, BulkArguments& arguments);
/// These and --shard.
void add_bulk_options(CLI::App& command, BulkArguments& arguments);

/// The inputs of this shard. `list` is what "-" reads.
io::InputSource bulk_inputs(const InputArguments& inputs, const BulkArguments& arguments, std::istream& list);

/// Runs a command whose list of paths on standard input, and whose work, ends when a signal asks for it.
/// Gives what `run` gives.
int run_stoppable(const std::function<int(std::istream& list)>& run);

/// As many cores as --threads says; ends when a StopSignal has received a signal.
io::BulkLimits bulk_limits(const BulkArguments& arguments, const CommonOptions& common);

/// How a run goes: on the terminal while it does, and in the end. For one thread at a time.
class RunReport {
 public:
  /// `progress`: whether the line that changes is wanted.
  RunReport(bool progress, const io::InputSequence& inputs)
      : progress_(progress, [&inputs] { return inputs.total(); }) {}

  /// Of an earlier run that this one goes on from.
  void continue_behind(std::int64_t rows, std::int64_t failures);
  /// Once for each input, before its row is written: says what failed.
  void count(const std::optional<Error>& error);
  /// Before the last word: no line that changes any more.
  void finish() { progress_.clear(); }

  std::int64_t rows() const { return rows_; }
  std::int64_t failures() const { return failures_; }
  /// kOk, kSomeInputsFailed, or 128 + the signal that stopped the run.
  int exit_code() const;
  /// "12 pictures, 1 failed"
  std::string summary() const;

 private:
  Progress progress_;
  std::int64_t rows_ = 0;
  std::int64_t failures_ = 0;
};

/// Whether the line that changes may be shown beside the rows: not where both are on the same terminal.
bool wants_progress(const BulkArguments& arguments, const CommonOptions& common, const std::string& output);

/// Whether `output` names a file; empty and "-" are standard output.
bool names_file(const std::string& output);

}  // namespace vit::apps
