#include "io/bulk.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace vit::io {

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
