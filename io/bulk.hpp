// Any number of pictures through one network, on all cores, whatever is made of each.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "io/input_sequence.hpp"
#include "io/picture_session.hpp"
#include "io/pipeline.hpp"
#include "io/stopwatch.hpp"
#include "vit/session.hpp"

namespace vit::io {

struct BulkLimits {
  int cores = 0;          ///< that may work at the same time; 0: all that this process may use
  std::size_t batch = 2;  ///< most pictures that go through the network together
  /// Asked before each group of pictures, by any thread: whether no more are to be begun.
  std::function<bool()> stop = [] { return false; };
};

/// How a run went.
struct BulkTimes {
  int cores = 1;
  PipelineTimes pipeline;
  StageTimes stages;
  double network_in_use = 0;  ///< seconds in which at least one picture was in the network
};

/// One line for people.
std::string describe(const BulkTimes& times);

/// One thread's part of a run.
template <class Out>
struct BulkWorker {
  std::function<std::vector<Out>(std::vector<Input>, int cores)> answer;  ///< one for each input, in order
  std::function<StageTimes()> take_times;                                 ///< since the last call
};

/// Gives an answer for each input to `sink`, in order, in constant memory; what is decoded at the same time,
/// how many go through the network together and on how many cores is described in io/pipeline.hpp.
/// `make_worker` is called in the thread that uses the worker; the clock is for its network. Throws what any
/// of them throws, which ends the run.
template <class Out>
BulkTimes run_bulk(InputSequence& inputs, const BulkLimits& limits,
                   const std::function<BulkWorker<Out>(BusyClock& network)>& make_worker,
                   const std::function<void(Out)>& sink) {
  BulkTimes times;
  times.cores = limits.cores > 0 ? limits.cores : available_threads();
  BusyClock network;
  std::mutex mutex;  // guards times.stages
  PipelineSource<Input> source = pipeline_source(inputs);
  source.next = [&] { return limits.stop() ? std::nullopt : inputs.next(); };
  Pipeline<Input, Out> pipeline(
      std::move(source),
      [&] {
        return [&, worker = make_worker(network)](std::vector<Input> group, int cores) {
          std::vector<Out> answers = worker.answer(std::move(group), cores);
          const std::lock_guard lock(mutex);
          times.stages += worker.take_times();
          return answers;
        };
      },
      sink);
  times.pipeline = pipeline.run({.cores = times.cores, .batch = limits.batch});
  times.network_in_use = network.seconds();
  return times;
}

}  // namespace vit::io
