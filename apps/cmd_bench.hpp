// vitrine bench: how fast a network runs here, and what share of this machine's limit that is.
#pragma once

#include <cstdint>
#include <string>

#include "apps/bench_report.hpp"
#include "apps/common.hpp"

namespace vit::apps {

struct BenchOptions {
  CommonOptions common;
  std::int64_t batch = 1;
  int iterations = 30;
  bool lockstep = false;
  BenchDetails details;
  std::string format = "text";
};

void add_bench(CLI::App& app, int& result);
/// Returns kOk.
int run_bench(const BenchOptions& options);

}  // namespace vit::apps
