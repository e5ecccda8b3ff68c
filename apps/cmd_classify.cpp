#include "apps/cmd_classify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <iostream>
#include <memory>

#include "apps/load_model.hpp"
#include "apps/output.hpp"
#include "apps/rows.hpp"
#include "io/classifier.hpp"
#include "io/inputs.hpp"
#include "io/ordered_workers.hpp"

namespace vit::apps {
namespace {

/// How the cores are shared out: many pictures have one core each, few have all cores one after the other.
struct Plan {
  int workers = 1;
  int threads_each = 1;
};

Plan make_plan(io::InputSource& inputs, int threads) {
  const std::size_t enough = 2 * static_cast<std::size_t>(threads);
  const bool many = inputs.look_ahead(enough) == enough || inputs.interactive();
  return many ? Plan{threads, 1} : Plan{1, threads};
}

/// The next pictures for one worker: fewer towards the end, so that all workers end together, and powers of
/// two, so that few sizes of batch occur. Lines of a list are answered one by one.
std::vector<io::Input> next_group(io::InputSource& inputs, std::int64_t batch, int workers) {
  const auto most = static_cast<std::size_t>(batch) * 2 * static_cast<std::size_t>(workers);
  const std::size_t share = inputs.look_ahead(most) / (2 * static_cast<std::size_t>(workers));
  const std::size_t wanted =
      std::bit_floor(std::clamp<std::size_t>(share, 1, static_cast<std::size_t>(batch)));
  std::vector<io::Input> group;
  while (group.size() < wanted) {
    std::optional<io::Input> input = inputs.next();
    if (!input) break;
    group.push_back(std::move(*input));
  }
  return group;
}

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
  using clock = std::chrono::steady_clock;
  const auto start = clock::now();
  const int threads = options.common.threads > 0 ? options.common.threads : available_threads();
  const auto classifier =
      std::make_shared<io::Classifier>(load_model(model_path(options.common), load_options(options.common)),
                                       ModelOptions{.precision = options.common.precision});
  const auto loaded = clock::now();
  report_model(options.common, classifier->info());
  report_precision(options.common, *classifier->model());

  io::InputSource inputs(options.inputs.names, {.recursive = options.inputs.recursive, .list = &list});
  Output output(options.output);
  const std::unique_ptr<RowFormat> format = make_row_format(options.format);
  const Plan plan = make_plan(inputs, threads);
  const bool answers_a_list =
      std::find(options.inputs.names.begin(), options.inputs.names.end(), "-") != options.inputs.names.end();
  std::size_t rows = 0;
  std::size_t failures = 0;

  output.write(format->begin());
  io::OrderedWorkers<io::Input, io::Answer> workers(
      [&] { return next_group(inputs, options.batch, plan.workers); },
      [&] {
        auto session = std::make_shared<io::ClassifierSession>(classifier, plan.threads_each);
        return [&options, session](std::vector<io::Input> group) {
          return session->classify(std::move(group), options.top_k);
        };
      },
      [&](const io::Answer& answer) {
        ++rows;
        if (answer.error) {
          ++failures;
          print_error(answer.error->what());
        }
        output.write(format->row(to_row(answer, classifier->info().labels, options.threshold)));
        if (answers_a_list) output.flush();
      });
  workers.run(static_cast<std::size_t>(plan.workers));
  output.write(format->end());
  output.finish();

  if (options.common.verbose) {
    const auto seconds = [](clock::duration d) { return std::chrono::duration<double>(d).count(); };
    print_error(
        fmt::format("{} pictures, {} failed; model loaded in {:.2f} s, pictures in {:.2f} s with {} workers "
                    "of {} threads",
                    rows, failures, seconds(loaded - start), seconds(clock::now() - loaded), plan.workers,
                    plan.threads_each));
  }
  return failures == 0 ? kOk : kSomeInputsFailed;
}

}  // namespace vit::apps
