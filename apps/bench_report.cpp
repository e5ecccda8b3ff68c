#include "apps/bench_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "apps/machine.hpp"

namespace vit::apps {
namespace {

using Json = nlohmann::ordered_json;

std::vector<LayerTime> layer_times(const ModelConfig& config, const SessionOptions& options,
                                   const Profile& profile) {
  std::vector<LayerTime> times;
  for (const LayerKind kind : kAllLayerKinds) {
    const double seconds = profile.seconds(kind) / profile.passes();
    const double flops =
        forward_flops(config, options.image_size, kind, options.merge) * static_cast<double>(options.batch);
    times.push_back({to_string(kind), seconds * 1e3, profile.seconds(kind) / profile.total_seconds(),
                     seconds > 0 ? flops / seconds / 1e9 : 0});
  }
  return times;
}

std::string profile_text(const BenchReport& r) {
  std::string text =
      fmt::format("\n{:<14}{:>10}{:>9}{:>10}{:>13}\n", "layers", "ms", "time", "GFLOP/s", "of the limit");
  double sum = 0;
  for (const LayerTime& layer : r.profile) {
    sum += layer.milliseconds;
    text += fmt::format("{:<14}{:>10.3f}{:>7.1f} %", layer.kind, layer.milliseconds, 100 * layer.share);
    if (layer.gflops > 0)
      text += fmt::format("{:>10.1f}{:>11.1f} %", layer.gflops, 100 * layer.gflops / r.limit_rate.median);
    text += '\n';
  }
  return text + fmt::format("{:<14}{:>10.3f}{:>7.1f} %\n", "sum, mean", sum, 100.0);
}

Json spread(const Distribution& d) {
  return {{"min", d.min}, {"p10", d.p10}, {"median", d.median}, {"p90", d.p90}, {"p99", d.p99}};
}

}  // namespace

Distribution::Distribution(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const auto at = [&](double share) {
    return values[static_cast<std::size_t>(std::lround(share * static_cast<double>(values.size() - 1)))];
  };
  min = values.front();
  p10 = at(0.1);
  median = at(0.5);
  p90 = at(0.9);
  p99 = at(0.99);
}

BenchReport summarise(const std::string& name, const ModelConfig& config, BenchRounds& bench,
                      const std::vector<Round>& rounds, const BenchDetails& details) {
  const SessionOptions& o = bench.session().options();
  const double flops = forward_flops(config, o.image_size, o.merge);
  const double batch_flops = flops * static_cast<double>(o.batch);
  std::vector<double> latency, rate, limit_rate, share;
  for (const Round& round : rounds) {
    latency.push_back(round.network * 1e3);
    rate.push_back(batch_flops / round.network / 1e9);
    limit_rate.push_back(bench.limit().flops() / round.limit / 1e9);
    share.push_back(rate.back() / limit_rate.back());
  }
  const double median = Distribution(latency).median;
  return {.model = name,
          .cpu = cpu_name(),
          .build = build_name(),
          .precision = std::string(to_string(bench.precision())),
          .limit_kernel = bench.limit().kernel(),
          .threads = o.threads,
          .batch = o.batch,
          .image = o.image_size,
          .merge = o.merge,
          .iterations = static_cast<int>(rounds.size()),
          .gflop = flops / 1e9,
          .latency = Distribution(latency),
          .images_per_second = static_cast<double>(o.batch) * 1e3 / median,
          .rate = Distribution(rate),
          .limit_rate = Distribution(limit_rate),
          .share = Distribution(share),
          .best_share = *std::max_element(rate.begin(), rate.end()) /
                        *std::max_element(limit_rate.begin(), limit_rate.end()),
          .rss_mib = peak_rss_mib(),
          .profile = details.profile ? layer_times(config, o, bench.profile()) : std::vector<LayerTime>(),
          .kernels = details.kernels ? bench.session().kernels() : std::vector<std::string>()};
}

std::string as_text(const BenchReport& r) {
  std::string text;
  const auto line = [&](std::string_view key, const std::string& value) {
    text += fmt::format("{:<12}{}\n", key, value);
  };
  line("model", r.model);
  line("machine", fmt::format("{}, {} thread{}", r.cpu, r.threads, r.threads == 1 ? "" : "s"));
  line("oneDNN", fmt::format("{} ({}), {}", onednn_version(), onednn_build(), onednn_isa()));
  line("build", r.build);
  line("input", fmt::format("batch {}, {}x{} pixels, {:.2f} GFLOP an image, {}{}", r.batch, r.image.height,
                            r.image.width, r.gflop, r.precision,
                            r.merge > 0 ? fmt::format(", {} tokens merged in every block", r.merge) : ""));
  line("latency",
       fmt::format("{:.2f} ms median of {} (least {:.2f}; percentiles 10: {:.2f}, 90: {:.2f}, 99: {:.2f})",
                   r.latency.median, r.iterations, r.latency.min, r.latency.p10, r.latency.p90,
                   r.latency.p99));
  line("throughput", fmt::format("{:.2f} images/s", r.images_per_second));
  line("rate", fmt::format("{:.1f} GFLOP/s", r.rate.median));
  line("limit",
       fmt::format("{:.1f} GFLOP/s: a 2048x2048x2048 {} matmul ({}), timed in turns with the network",
                   r.limit_rate.median, r.precision, r.limit_kernel));
  line("share", fmt::format("{:.1f} % of the limit ({:.1f} to {:.1f}); the best of both: {:.1f} %",
                            100 * r.share.median, 100 * r.share.p10, 100 * r.share.p90, 100 * r.best_share));
  line("memory", fmt::format("{:.0f} MiB at most", r.rss_mib));
  if (!r.profile.empty()) text += profile_text(r);
  for (const std::string& kernel : r.kernels) text += "  " + kernel + "\n";
  return text;
}

std::string as_json(const BenchReport& r) {
  Json json = {{"model", r.model},
               {"cpu", r.cpu},
               {"isa", onednn_isa()},
               {"threads", r.threads},
               {"onednn", onednn_version()},
               {"onednn_build", onednn_build()},
               {"build", r.build},
               {"precision", r.precision},
               {"batch", r.batch},
               {"image_size", {r.image.height, r.image.width}},
               {"merge", r.merge},
               {"iterations", r.iterations},
               {"gflop_per_image", r.gflop},
               {"latency_ms", spread(r.latency)},
               {"images_per_second", r.images_per_second},
               {"gflops", spread(r.rate)},
               {"peak_gflops", spread(r.limit_rate)},
               {"peak_kernel", r.limit_kernel},
               {"share_of_peak", spread(r.share)},
               {"share_of_peak_best", r.best_share},
               {"peak_rss_mib", r.rss_mib}};
  for (const LayerTime& layer : r.profile) {
    json["profile"][std::string(layer.kind)] = {
        {"ms", layer.milliseconds}, {"share", layer.share}, {"gflops", layer.gflops}};
  }
  if (!r.kernels.empty()) json["kernels"] = r.kernels;
  // A file name can be any bytes.
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace vit::apps
