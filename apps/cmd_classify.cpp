#include "apps/cmd_classify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <memory>

#include "apps/load_model.hpp"
#include "apps/output.hpp"
#include "apps/rows.hpp"
#include "io/classify_pictures.hpp"
#include "io/inputs.hpp"

namespace vit::apps {
namespace {

Row to_row(const io::Answer& answer, const io::Labels& labels, std::optional<float> threshold) {
  Row row{answer.input, {}, answer.error};
  for (const Prediction& p : answer.predictions) {
    if (!threshold || p.score >= *threshold)
      row.predictions.push_back({p.index, labels.name(p.index), p.score});
  }
  return row;
}

}  // namespace

void add_classify(CLI::App& app, int& result) {
  auto options = std::make_shared<ClassifyOptions>();
  CLI::App& command = *app.add_subcommand("classify", "name what is in each picture");
  add_input_arguments(command, options->inputs);
  add_model_option(command, options->common);
  add_label_option(command, options->common);
  command.add_option("--format", options->format, "text, json, jsonl or csv")
      ->check(CLI::IsMember({"text", "json", "jsonl", "csv"}))
      ->capture_default_str();
  command.add_option("-o,--output", options->output, "write to this file (default: standard output)");
  command.add_option("-k,--top-k", options->top_k, "labels for each picture")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  command.add_option("--threshold", options->threshold, "leave out labels with a lower score")
      ->check(CLI::Range(0.0, 1.0))
      ->check([](const std::string& text) { return text.find("nan") == text.npos ? "" : "is not a number"; });
  command.add_option("--batch", options->batch, "most pictures that go through the network together")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  add_precision_option(command, options->common);
  add_thread_option(command, options->common);
  add_verbosity_options(command, options->common);
  command.callback([options, &result] { result = run_classify(*options, std::cin); });
}

int run_classify(const ClassifyOptions& options, std::istream& list) {
  refuse_overwriting(options.output, options.inputs.names);
  refuse_overwriting(options.output, {options.common.model});
  const auto start = std::chrono::steady_clock::now();
  const auto classifier = std::make_shared<io::Classifier>(
      load_model(model_path(options.common), load_options(options.common)),
      ModelOptions{.precision = options.common.precision, .threads = options.common.threads});
  const std::chrono::duration<double> load_time = std::chrono::steady_clock::now() - start;
  report_model(options.common, classifier->info());
  report_precision(options.common, *classifier->model());

  io::InputSource inputs(options.inputs.names, {.recursive = options.inputs.recursive, .list = &list});
  Output output(options.output);
  const std::unique_ptr<RowFormat> format = make_row_format(options.format);
  const bool answers_a_list =
      std::find(options.inputs.names.begin(), options.inputs.names.end(), "-") != options.inputs.names.end();
  std::size_t rows = 0;
  std::size_t failures = 0;

  output.write(format->begin());
  const io::BulkTimes times = io::classify_pictures(
      classifier, inputs,
      {.cores = options.common.threads,
       .batch = static_cast<std::size_t>(options.batch),
       .top_k = options.top_k},
      [&](const io::Answer& answer) {
        ++rows;
        if (answer.error) {
          ++failures;
          print_error(answer.error->what());
        }
        output.write(format->row(to_row(answer, classifier->info().labels, options.threshold)));
        if (answers_a_list) output.flush();
      });
  output.write(format->end());
  output.finish();

  if (options.common.verbose) {
    print_error(fmt::format("{} pictures, {} failed; model loaded in {:.2f} s; {}", rows, failures,
                            load_time.count(), io::describe(times)));
  }
  return failures == 0 ? kOk : kSomeInputsFailed;
}

}  // namespace vit::apps
