#include "apps/cmd_bench.hpp"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <fstream>
#include <memory>
#include <string_view>
#include <vector>

#include "apps/load_model.hpp"
#include "apps/output.hpp"
#include "apps/rows.hpp"
#include "io/checkpoint.hpp"
#include "vit/measure.hpp"
#include "vit/session.hpp"

namespace vit::apps {
namespace {

constexpr int kWarmUp = 3;
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

/// Order statistics of repeated measurements.
struct Distribution {
  double low = 0, median = 0, high = 0;  // 10th, 50th and 90th percentile

  explicit Distribution(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    const auto at = [&](double share) {
      return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1) + 0.5)];
    };
    low = at(0.1);
    median = at(0.5);
    high = at(0.9);
  }
};

struct Measurement {
  std::vector<double> seconds;       // of one forward()
  std::vector<double> peak_seconds;  // of the matmul that was timed right after it
};

template <class Body>
double seconds_of(Body&& body) {
  const auto start = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// The network and the limit in turns, so that a busy moment of the machine meets both.
Measurement measure(Session& session, const ConstTensorView& pixel_values, PeakGemm& peak, int iterations) {
  Measurement result;
  for (int i = -kWarmUp; i < iterations; ++i) {
    const double network = seconds_of([&] { session.forward(pixel_values); });
    const double limit = seconds_of([&] { peak.run(); });
    if (i < 0) continue;
    result.seconds.push_back(network);
    result.peak_seconds.push_back(limit);
  }
  return result;
}

std::string cpu_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown CPU";
}

double peak_rss_mib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

struct Report {
  std::string model, cpu;
  int threads;
  std::int64_t batch;
  Size2 image;
  int iterations;
  double gflop;            // of one image
  Distribution latency;    // milliseconds of one batch
  Distribution rate;       // GFLOP/s
  Distribution peak_rate;  // GFLOP/s
  Distribution share;      // of the limit, each forward against its neighbour
};

Report summarise(const Subject& subject, const Session& session, const PeakGemm& peak, const Measurement& m) {
  const SessionOptions& o = session.options();
  const double flops = forward_flops(subject.model->config(), o.image_size);
  const double batch_flops = flops * static_cast<double>(o.batch);
  std::vector<double> latency, rate, peak_rate, share;
  for (std::size_t i = 0; i < m.seconds.size(); ++i) {
    latency.push_back(m.seconds[i] * 1e3);
    rate.push_back(batch_flops / m.seconds[i] / 1e9);
    peak_rate.push_back(peak.flops() / m.peak_seconds[i] / 1e9);
    share.push_back(rate.back() / peak_rate.back());
  }
  return {subject.name,       cpu_name(),
          o.threads,          o.batch,
          o.image_size,       static_cast<int>(m.seconds.size()),
          flops / 1e9,        Distribution(latency),
          Distribution(rate), Distribution(peak_rate),
          Distribution(share)};
}

std::string as_text(const Report& r) {
  std::string text;
  const auto line = [&](std::string_view key, const std::string& value) {
    text += fmt::format("{:<12}{}\n", key, value);
  };
  line("model", r.model);
  line("machine",
       fmt::format("{}, {} threads, oneDNN {} ({}), fp32", r.cpu, r.threads, onednn_version(), onednn_isa()));
  line("input", fmt::format("batch {}, {}x{} pixels, {:.2f} GFLOP an image", r.batch, r.image.height,
                            r.image.width, r.gflop));
  line("latency", fmt::format("{:.2f} ms median of {} ({:.2f} to {:.2f}: 10th to 90th percentile)",
                              r.latency.median, r.iterations, r.latency.low, r.latency.high));
  line("throughput", fmt::format("{:.2f} images/s", static_cast<double>(r.batch) * 1e3 / r.latency.median));
  line("rate", fmt::format("{:.1f} GFLOP/s", r.rate.median));
  line("limit", fmt::format("{:.1f} GFLOP/s: a 2048x2048x2048 fp32 matmul, timed in turns with the network",
                            r.peak_rate.median));
  line("share", fmt::format("{:.1f} % of the limit ({:.1f} to {:.1f})", 100 * r.share.median,
                            100 * r.share.low, 100 * r.share.high));
  line("memory", fmt::format("{:.0f} MiB at most", peak_rss_mib()));
  return text;
}

std::string as_json(const Report& r) {
  const auto spread = [](const Distribution& d) {
    return fmt::format("{{\"p10\":{:.6g},\"median\":{:.6g},\"p90\":{:.6g}}}", d.low, d.median, d.high);
  };
  return fmt::format(
      "{{\"model\":{},\"cpu\":{},\"threads\":{},\"onednn\":\"{}\",\"isa\":\"{}\",\"precision\":\"fp32\","
      "\"batch\":{},"
      "\"image_size\":[{},{}],\"iterations\":{},\"gflop_per_image\":{:.6g},\"latency_ms\":{},\"images_per_"
      "second\":{:.6g},"
      "\"gflops\":{},\"peak_gflops\":{},\"share_of_peak\":{},\"peak_rss_mib\":{:.6g}}}\n",
      json_string(r.model), json_string(r.cpu), r.threads, onednn_version(), onednn_isa(), r.batch,
      r.image.height, r.image.width, r.iterations, r.gflop, spread(r.latency),
      static_cast<double>(r.batch) * 1e3 / r.latency.median, spread(r.rate), spread(r.peak_rate),
      spread(r.share), peak_rss_mib());
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
  command.add_option("--iterations", options->iterations, "forward passes that are timed")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  command.add_flag("--kernels", options->kernels, "list the oneDNN kernels that run (text only)");
  command.add_option("--format", options->format, "text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  add_precision_option(command, options->common);
  add_thread_option(command, options->common);
  add_verbosity_options(command, options->common);
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
  Session session(subject.model,
                  {.batch = options.batch, .image_size = image, .threads = options.common.threads});
  Tensor pixel_values({options.batch, config.num_channels, image.height, image.width});
  for (std::int64_t i = 0; i < pixel_values.size(); ++i)
    pixel_values.data()[i] = static_cast<float>(i % 255) / 127.5F - 1;
  PeakGemm peak(session.options().threads);
  const Measurement measurement = measure(session, pixel_values.view(), peak, options.iterations);
  const Report report = summarise(subject, session, peak, measurement);

  Output output({});
  output.write(options.format == "json" ? as_json(report) : as_text(report));
  if (options.kernels && options.format == "text") {
    for (const std::string& kernel : session.kernels()) output.write("  " + kernel + "\n");
  }
  output.finish();
  return kOk;
}

}  // namespace vit::apps
