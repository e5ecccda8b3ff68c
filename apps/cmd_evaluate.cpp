#include "apps/cmd_evaluate.hpp"

#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <memory>
#include <utility>

#include "apps/evaluation_report.hpp"
#include "apps/evaluation_summary.hpp"
#include "apps/load_model.hpp"
#include "apps/output.hpp"
#include "apps/row_formats.hpp"
#include "apps/stop_signal.hpp"
#include "io/classify_pictures.hpp"
#include "io/labelled_pictures.hpp"
#include "io/quote_name.hpp"

namespace vit::apps {
namespace {

constexpr std::array<const char*, 2> kFormats{"text", "json"};
constexpr std::size_t kWorstMistakes = 24;  // that the report shows

std::string format_of(const EvaluateOptions& options) {
  if (!options.format.empty()) return options.format;
  return format_by_ending(options.output, kFormats).value_or("text");
}

/// What was asked for, whatever destroys none of it.
void refuse_overwriting(const EvaluateOptions& options) {
  for (const std::string& file : {options.output, options.predictions})
    vit::apps::refuse_overwriting(file, {options.labelled, options.label_map, options.common.model});
  if (names_file(options.output) && options.output == options.predictions)
    throw Error(ErrorCode::invalid_argument, "-o and --predictions: expected two different files");
}

void require_choice(const io::CheckpointInfo& info, const std::filesystem::path& path) {
  if (info.score_function == ScoreFunction::none || info.labels.size() < 2) {
    throw Error(ErrorCode::model_unsupported,
                fmt::format("{}: expected a model that chooses among two labels or more", path.native()));
  }
}

/// One line of --predictions for each picture.
class PredictionsFile {
 public:
  explicit PredictionsFile(const std::string& path) {
    if (path.empty()) return;
    output_ = std::make_unique<Output>(path);
    output_->write(
        "input,label,index,predicted,predicted_index,score,label_score,label_rank,error,message\n");
  }

  void write(const io::Answer& answer, std::int64_t truth, const io::Labels& labels) {
    if (!output_) return;
    const std::string begin =
        fmt::format("{},{},{},", csv_field(answer.input), csv_field(labels.name(truth)), truth);
    if (answer.error) {
      output_->write(fmt::format("{},,,,,{},{}\n", begin, to_string(answer.error->code()),
                                 csv_field(answer.error->what())));
      return;
    }
    std::size_t rank = 0;
    while (answer.predictions[rank].index != truth) ++rank;
    const Prediction& best = answer.predictions.front();
    output_->write(fmt::format("{}{},{},{},{},{},,\n", begin, csv_field(labels.name(best.index)), best.index,
                               best.score, answer.predictions[rank].score, rank + 1));
  }

  void finish() {
    if (output_) output_->finish();
  }

 private:
  std::unique_ptr<Output> output_;
};

/// How the classes were mapped: in one line, with -v class by class.
void report_mapping(const CommonOptions& common, const Evaluation& evaluation) {
  if (common.verbose) {
    for (const io::MappedClass& c : evaluation.mapping)
      print_error(fmt::format("{} -> {} ({}), by {}", io::quote_name(c.name), c.index,
                              evaluation.labels.name(c.index), to_string(c.by)));
    return;
  }
  std::array<std::int64_t, 6> counts{};
  for (const io::MappedClass& c : evaluation.mapping) ++counts[static_cast<std::size_t>(c.by)];
  std::string text;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] > 0)
      text += fmt::format("{}{} by {}", text.empty() ? "" : ", ", counts[i],
                          to_string(static_cast<io::MatchedBy>(i)));
  }
  report_notes(common,
               {fmt::format("{}: classes mapped to labels: {} (-v lists them)", evaluation.source, text)});
}

}  // namespace

void add_evaluate(CLI::App& app, int& result) {
  auto options = std::make_shared<EvaluateOptions>();
  CLI::App& command =
      *app.add_subcommand("evaluate", "how often a model is right on pictures whose class is known");
  command
      .add_option("LABELLED", options->labelled,
                  "a folder with a sub-folder of pictures for each class, or a CSV file of path,label (paths "
                  "relative to its folder)")
      ->required();
  add_model_option(command, options->common);
  add_label_option(command, options->common);
  command.add_option(
      "--label-map", options->label_map,
      "CSV or TSV file of CLASS,LABEL: which label (or index) of the model a class of LABELLED is, "
      "where the names do not tell");
  command
      .add_option("--format", options->format, "text or json (default: as the file's name ends, else text)")
      ->check(CLI::IsMember(kFormats));
  command.add_option("-o,--output", options->output, "write there instead of to standard output");
  command.add_option("--predictions", options->predictions, "CSV file with a line for each picture");
  command.add_option(
      "--report", options->report,
      "folder for index.html, with all results and charts, confusion.csv and the charts as PNG");
  command.add_flag("--force", options->force, "write the report into a folder that holds other files");
  add_batch_options(command, options->bulk);
  add_precision_option(command, options->common);
  add_merge_option(command, options->common);
  add_thread_option(command, options->common);
  add_verbosity_options(command, options->common);
  set_examples(command,
               {"vitrine evaluate labels.csv  # lines of path,label",
                "vitrine evaluate classes --report report  # a folder of pictures for each label; charts "
                "in report/index.html"});
  command.callback(
      [options, &result] { result = run_stoppable([&](std::istream&) { return run_evaluate(*options); }); });
}

int run_evaluate(const EvaluateOptions& options) {
  refuse_overwriting(options);
  const std::string format = format_of(options);
  const io::LabelledPictures pictures = io::read_labelled_pictures(options.labelled);
  const io::LabelMap label_map =
      options.label_map.empty() ? io::LabelMap() : io::read_label_map(options.label_map);
  const std::filesystem::path path = model_path(options.common);
  const auto classifier = load_classifier(options.common, path);
  const io::CheckpointInfo& info = classifier->info();
  require_choice(info, path);

  Evaluation evaluation{options.labelled, path.native(), info.score_function, info.labels, {}, {}, {}};
  evaluation.mapping = io::map_labels(pictures.classes, info.labels, label_map, options.labelled);
  report_mapping(options.common, evaluation);
  Output output(options.output);
  PredictionsFile predictions(options.predictions);
  if (!options.report.empty()) make_report_folder(options.report, options.force);

  io::LabelledSequence inputs(pictures);
  RunReport report(wants_progress(options.bulk, options.common, options.output), inputs);
  io::EvaluationMetrics metrics(info.labels.size());
  io::WorstMistakes worst(kWorstMistakes);
  std::size_t number = 0;
  const auto take = [&](const io::Answer& answer) {
    const auto class_number = static_cast<std::size_t>(pictures.class_of[number]);
    const std::int64_t truth = evaluation.mapping[class_number].index;
    report.count(answer.error);
    predictions.write(answer, truth, info.labels);
    if (answer.error) {
      evaluation.failures.push_back({answer.input, *answer.error});
    } else {
      metrics.add(truth, answer.predictions);
      const Prediction& best = answer.predictions.front();
      if (best.index != truth) worst.add({number, truth, best.index, best.score});
    }
    ++number;
  };
  const io::BulkLimits limits = bulk_limits(options.bulk, options.common);
  const io::BulkTimes times = io::classify_pictures(classifier, inputs,
                                                    {.cores = limits.cores,
                                                     .batch = limits.batch,
                                                     .top_k = info.labels.size(),
                                                     .merge = options.common.merge,
                                                     .stop = limits.stop},
                                                    take);
  report.finish();
  if (StopSignal::received() != 0) {
    print_error(
        fmt::format("stopped after {} of {} pictures: no results of a part", number, pictures.size()));
    return report.exit_code();
  }
  evaluation.result = metrics.result();
  predictions.finish();
  if (!options.report.empty())
    write_report(options.report, evaluation, show_mistakes(worst.sorted(), pictures, classifier->recipe()));
  output.write(format == "json" ? evaluation_json(evaluation) : evaluation_text(evaluation));
  output.finish();
  if (options.common.verbose) print_error(fmt::format("{}; {}", report.summary(), io::describe(times)));
  return report.exit_code();
}

}  // namespace vit::apps
