#include "apps/cmd_bench.hpp"

#include <fmt/format.h>

#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "apps/bench_rounds.hpp"
#include "apps/load_model.hpp"
#include "apps/output.hpp"
#include "io/checkpoint.hpp"

namespace vit::apps {
namespace {

constexpr int kWarmUp = 3;
constexpr int kMostIterations = 100000;
#ifdef NDEBUG
constexpr bool kDebugBuild = false;
#else
constexpr bool kDebugBuild = true;
#endif

struct Subject {
  std::string name;
  std::shared_ptr<const Model> model;
};

Subject load_subject(const BenchOptions& options) {
  const std::string& name = options.common.architecture;
  if (names_no_weights(options.common)) {
    const ModelConfig config = io::describe_architecture(name, load_options(options.common)).config;
    return {name + ", random weights",
            std::make_shared<Model>(config, random_weights(config, 1),
                                    ModelOptions{.precision = options.common.precision})};
  }
  const std::filesystem::path path = model_path(options.common);
  io::Checkpoint checkpoint = load_model(path, load_options(options.common));
  return {path.native(), std::make_shared<Model>(checkpoint.info.config, std::move(checkpoint.weights),
                                                 ModelOptions{.precision = options.common.precision})};
}

std::vector<Round> measure(BenchRounds& bench, int iterations) {
  for (int i = 0; i < kWarmUp; ++i) bench.run();
  bench.profile().reset();
  std::vector<Round> rounds(static_cast<std::size_t>(iterations));
  for (Round& round : rounds) round = bench.run();
  return rounds;
}

/// A line of standard input: forward passes of a round.
int passes_of(const std::string& line, int otherwise) {
  if (line.empty()) return otherwise;
  const auto number = parse_number(line);
  if (!number || *number < 1 || *number > kMostIterations) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("--lockstep: a line says '{}', expected a number of passes or nothing", line));
  }
  return static_cast<int>(*number);
}

/// One round for each line, answered before the next line is read.
void keep_step(BenchRounds& bench, int passes, Output& output) {
  for (std::string line; std::getline(std::cin, line);) {
    const Round round = bench.run_after_others(passes_of(line, passes));
    output.write(
        fmt::format("{{\"network_seconds\":{:.9g},\"limit_seconds\":{:.9g}}}\n", round.network, round.limit));
    output.flush();
  }
}

}  // namespace

void add_bench(CLI::App& app, int& result) {
  auto options = std::make_shared<BenchOptions>();
  CLI::App& command = *app.add_subcommand("bench", "time a network and the machine's limit side by side");
  add_model_option(command, options->common);
  command.get_option("--arch")->description(
      "architecture by its name, see vitrine info --help; without -m: random weights of that shape");
  command.add_option("--batch", options->batch, "images in one forward pass")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command
      .add_option("--iterations", options->iterations,
                  "forward passes that are timed; with --lockstep: in each round")
      ->check(CLI::Range(1, kMostIterations))
      ->capture_default_str();
  command.add_flag("--profile", options->details.profile, "time, share and GFLOP/s of each kind of layer");
  command.add_flag("--kernels", options->details.kernels, "list the oneDNN kernels that run");
  command.add_flag(
      "--lockstep", options->lockstep,
      "for turns with other programs: a round for each line on standard input (empty, or the number "
      "of passes), after an untimed pass; answered by {\"network_seconds\":median,"
      "\"limit_seconds\":…} on a line");
  command.add_option("--format", options->format, "text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  add_precision_option(command, options->common);
  add_merge_option(command, options->common);
  add_thread_option(command, options->common);
  add_verbosity_options(command, options->common);
  set_examples(command,
               {"vitrine bench -m my-model --batch 8",
                "vitrine bench --arch vit_tiny_patch16_224 --iterations 3 --profile  # where the time goes"});
  command.callback([options, &result] { result = run_bench(*options); });
}

int run_bench(const BenchOptions& options) {
  if (kDebugBuild) {
    throw Error(ErrorCode::invalid_argument,
                "bench: this is a debug build, whose times mean nothing; use a Release build");
  }
  const Subject subject = load_subject(options);
  report_precision(options.common, *subject.model);
  const ModelConfig& config = subject.model->config();
  const Size2 image = load_options(options.common).image_size.value_or(config.image_size);
  BenchRounds bench(subject.model,
                    {.batch = options.batch,
                     .image_size = image,
                     .threads = options.common.threads,
                     .merge = options.common.merge},
                    subject.model->precision());
  Output output({});
  if (options.lockstep) {
    keep_step(bench, options.iterations, output);
  } else {
    const std::vector<Round> rounds = measure(bench, options.iterations);
    const BenchReport report = summarise(subject.name, config, bench, rounds, options.details);
    output.write(options.format == "json" ? as_json(report) : as_text(report));
  }
  output.finish();
  return kOk;
}

}  // namespace vit::apps
