#include "apps/cmd_classify.hpp"

#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <istream>
#include <memory>

#include "apps/load_model.hpp"
#include "apps/output.hpp"
#include "apps/resume.hpp"
#include "apps/rows.hpp"
#include "apps/stop_signal.hpp"
#include "apps/terminal.hpp"
#include "io/classify_pictures.hpp"
#include "io/inputs.hpp"
#include "vit/token_counts.hpp"

namespace vit::apps {
namespace {

/// Rows in such a file stay when the run is interrupted, and --resume goes on from them.
bool is_resumable(const ClassifyOptions& options) {
  return names_file(options.output) && row_format_of(options.format, options.output) == "jsonl";
}

/// Whether --resume finds that an earlier run came to its end.
bool is_complete(const ClassifyOptions& options) {
  std::error_code ignored;
  return options.resume && std::filesystem::exists(options.output, ignored) &&
         !std::filesystem::exists(AtomicFile::unfinished_path(options.output), ignored);
}

/// What an interrupted run left, if it is to be gone on with.
EarlierRows find_earlier_rows(const ClassifyOptions& options, io::InputSource& inputs,
                              PictureFolders& folders) {
  if (!is_resumable(options)) return {};
  const std::filesystem::path file = AtomicFile::unfinished_path(options.output);
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) return {};
  if (options.resume) {
    return skip_earlier_rows(file, inputs, [&](const io::Input& input) { folders.skip(input); });
  }
  throw Error(
      ErrorCode::invalid_argument,
      fmt::format("{}: left by a run that was interrupted, or that is still going on; --resume goes on from "
                  "it, or remove it to begin anew",
                  file.string()));
}

Row to_row(const io::Answer& answer, const io::Labels& labels, std::optional<float> threshold) {
  Row row{answer.input, answer.frame, {}, answer.error};
  for (const Prediction& p : answer.predictions) {
    if (!threshold || p.score >= *threshold)
      row.predictions.push_back({p.index, labels.name(p.index), p.score});
  }
  return row;
}

/// Rows to where they go, and what is said about them on standard error.
class RowWriter {
 public:
  RowWriter(const ClassifyOptions& options, const std::string& format, const io::Labels& labels,
            io::InputSource& inputs, PictureFolders& folders)
      : options_(options),
        labels_(labels),
        folders_(folders),
        answers_a_list_(reads_list(options.inputs)),
        earlier_(find_earlier_rows(options, inputs, folders)),
        output_(options.output,
                is_resumable(options) ? std::optional(KeptUnfinished{earlier_.bytes}) : std::nullopt),
        format_(make_row_format(format, !names_file(options.output) && wants_colour(stdout))),
        report_(wants_progress(options.bulk, options.common, options.output), inputs) {
    report_.continue_behind(earlier_.rows, earlier_.failures);
    if (earlier_.rows > 0) {
      report_notes(options.common,
                   {fmt::format("{}: goes on behind {} rows", options.output, earlier_.rows)});
    }
    output_.write(format_->begin());
  }

  void write(const io::Answer& answer) {
    const Row row = to_row(answer, labels_, options_.threshold);
    if (earlier_.last) {
      require_same(*earlier_.last, row, AtomicFile::unfinished_path(options_.output));
      earlier_.last.reset();
    }
    report_.count(answer.error);
    folders_.put(row, answer.attachments);
    output_.write(format_->row(row));
    if (answers_a_list_) output_.flush();
  }

  /// Gives the exit code.
  int finish() {
    report_.finish();
    const bool stopped = StopSignal::received() != 0;
    if (!stopped || !is_resumable(options_)) {
      folders_.finish();
      output_.write(format_->end());
      output_.finish();
    }
    if (stopped) report_stop();
    return report_.exit_code();
  }

  std::string summary() const { return report_.summary(); }

 private:
  void report_stop() const {
    std::string text = fmt::format("stopped after {} rows", report_.rows());
    if (is_resumable(options_)) {
      text += fmt::format(", which are in {}; the same command with --resume goes on from there",
                          AtomicFile::unfinished_path(options_.output).string());
    } else if (names_file(options_.output)) {
      text += fmt::format(", which are in {}; only -o FILE.jsonl can be resumed", options_.output);
    }
    print_error(text);
  }

  const ClassifyOptions& options_;
  const io::Labels& labels_;
  PictureFolders& folders_;
  bool answers_a_list_;
  EarlierRows earlier_;
  Output output_;
  std::unique_ptr<RowFormat> format_;
  RunReport report_;
};

}  // namespace

void add_classify(CLI::App& app, int& result) {
  auto options = std::make_shared<ClassifyOptions>();
  CLI::App& command = *app.add_subcommand("classify", "name what is in each picture");
  add_input_arguments(command, options->inputs);
  add_model_option(command, options->common);
  add_label_option(command, options->common);
  add_row_options(command, options->format, options->output);
  command.add_flag("--resume", options->resume,
                   "go on from what an interrupted run with the same inputs and -o FILE.jsonl has written");
  command.add_option("-k,--top-k", options->top_k, "labels for each picture")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  command.add_option("--threshold", options->threshold, "leave out labels with a lower score")
      ->check(CLI::Range(0.0, 1.0))
      ->check(not_nan);
  add_bulk_options(command, options->bulk);
  add_picture_folder_options(command, options->folders);
  add_precision_option(command, options->common);
  add_merge_option(command, options->common);
  add_thread_option(command, options->common);
  add_verbosity_options(command, options->common);
  set_examples(command,
               {"vitrine classify cat.jpg  # the five best labels",
                "vitrine classify photos -r -k 1 -o labels.csv  # every picture below photos, as a table",
                "vitrine classify - --format jsonl < list.txt  # paths from a list, a row for each",
                "vitrine classify photos -m my-model --sort-into sorted  # a folder for each label"});
  command.callback([options, &result] {
    if (options->resume && !is_resumable(*options))
      throw Error(ErrorCode::invalid_argument, "--resume needs -o FILE.jsonl (or -o FILE --format jsonl)");
    result = run_stoppable([&](std::istream& list) { return run_classify(*options, list); });
  });
}

int run_classify(const ClassifyOptions& options, std::istream& list) {
  refuse_overwriting(options.output, options.inputs.names);
  refuse_overwriting(options.output, {options.common.model});
  const std::string format = row_format_of(options.format, options.output);
  if (is_complete(options)) {
    report_notes(options.common, {options.output + ": is complete, nothing is left to be done"});
    return kOk;
  }
  const auto start = std::chrono::steady_clock::now();
  const auto classifier = load_classifier(options.common, model_path(options.common));
  const std::chrono::duration<double> load_time = std::chrono::steady_clock::now() - start;
  validate_merge(classifier->info().config, options.common.merge);

  io::InputSource inputs = bulk_inputs(options.inputs, options.bulk, list);
  const io::Labels& labels = classifier->info().labels;
  PictureFolders folders(
      options.folders, options.inputs, labels,
      options.resume ? PictureFolders::Existing::continued : PictureFolders::Existing::refused);
  RowWriter rows(options, format, labels, inputs, folders);
  io::Attach attach;
  if (options.folders.any()) {
    attach = [&](const io::ClassifiedPicture& picture, const io::Answer& answer) {
      return folders.make(picture, to_row(answer, labels, options.threshold));
    };
  }
  const io::BulkLimits limits = bulk_limits(options.bulk, options.common);
  const io::BulkTimes times = io::classify_pictures(classifier, inputs,
                                                    {.cores = limits.cores,
                                                     .batch = limits.batch,
                                                     .top_k = options.top_k,
                                                     .merge = options.common.merge,
                                                     .attach = attach,
                                                     .stop = limits.stop},
                                                    [&](const io::Answer& answer) { rows.write(answer); });
  const int result = rows.finish();
  if (options.common.verbose) {
    print_error(fmt::format("{}; model loaded in {:.2f} s; {}", rows.summary(), load_time.count(),
                            io::describe(times)));
  }
  return result;
}

}  // namespace vit::apps
