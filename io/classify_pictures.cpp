#include "io/classify_pictures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <vector>

#include "vit/token_counts.hpp"

namespace vit::io {

BulkTimes classify_pictures(const std::shared_ptr<const Classifier>& classifier, InputSource& inputs,
                            const BulkOptions& options, const std::function<void(Answer)>& sink) {
  validate_merge(classifier->info().config, options.merge);
  BulkTimes times;
  times.cores = options.cores > 0 ? options.cores : available_threads();
  BusyClock network;
  std::mutex mutex;  // guards times.stages
  PipelineSource<Input> source = pipeline_source(inputs);
  source.next = [&] { return options.stop() ? std::nullopt : inputs.next(); };
  Pipeline<Input, Answer> pipeline(
      std::move(source),
      [&] {
        auto session = std::make_shared<ClassifierSession>(
            classifier, ClassifierSessionOptions{&network, options.merge, options.attach});
        return [&, session](std::vector<Input> group, int cores) {
          std::vector<Answer> answers = session->classify(std::move(group), options.top_k, cores);
          const std::lock_guard lock(mutex);
          times.stages += session->take_times();
          return answers;
        };
      },
      sink);
  times.pipeline = pipeline.run({.cores = times.cores, .batch = options.batch});
  times.network_in_use = network.seconds();
  return times;
}

std::string describe(const BulkTimes& times) {
  const double all = std::max(times.pipeline.elapsed * times.cores, 1e-9);
  const auto percent = [&](double seconds) { return 100 * seconds / all; };
  return fmt::format(
      "{} cores for {:.2f} s: network {:.1f} %, decoding {:.1f} %, preprocessing {:.1f} %, idle {:.1f} %; "
      "network in use {:.1f} % of the time",
      times.cores, times.pipeline.elapsed, percent(times.stages.network), percent(times.stages.decode),
      percent(times.stages.preprocess), percent(std::max(0.0, all - times.pipeline.busy)),
      100 * times.network_in_use / std::max(times.pipeline.elapsed, 1e-9));
}

}  // namespace vit::io
