// What `vitrine bench` says.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "apps/bench_rounds.hpp"

namespace vit::apps {

/// Order statistics of repeated measurements.
struct Distribution {
  double min = 0, p10 = 0, median = 0, p90 = 0, p99 = 0;

  /// At least one value.
  explicit Distribution(std::vector<double> values);
};

/// A kind of layer's part of the forward passes.
struct LayerTime {
  std::string_view kind;
  double milliseconds;  ///< of one pass
  double share;         ///< of all kinds
  double gflops;        ///< GFLOP/s; 0 where there is no matrix product
};

struct BenchReport {
  std::string model, cpu, build, precision;
  std::string limit_kernel;
  int threads;
  std::int64_t batch;
  Size2 image;
  std::int64_t merge;  ///< tokens that every block merges
  int iterations;
  double gflop;              ///< of one image
  Distribution latency;      ///< milliseconds of one batch
  double images_per_second;  ///< at the median latency
  Distribution rate;         ///< GFLOP/s
  Distribution limit_rate;   ///< GFLOP/s
  Distribution share;        ///< of the limit, each pass against its neighbour
  double best_share;         ///< of the limit, the best pass against the limit's best
  double rss_mib;
  std::vector<LayerTime> profile;  ///< empty unless wanted
  std::vector<std::string> kernels;
};

struct BenchDetails {
  bool profile = false;
  bool kernels = false;
};

/// `name` is the model's, `rounds` what `bench` has measured.
BenchReport summarise(const std::string& name, const ModelConfig& config, BenchRounds& bench,
                      const std::vector<Round>& rounds, const BenchDetails& details);

std::string as_text(const BenchReport& report);
/// One object on one line.
std::string as_json(const BenchReport& report);

}  // namespace vit::apps
