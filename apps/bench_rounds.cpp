#include "apps/bench_rounds.hpp"

#include <algorithm>
#include <chrono>

namespace vit::apps {
namespace {

template <class Body>
double seconds_of(Body&& body) {
  const auto start = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

SessionOptions profiled(SessionOptions options, Profile* profile) {
  options.profile = profile;
  return options;
}

/// Any picture will do: no layer's time depends on the values.
Tensor some_pixels(const ModelConfig& config, const SessionOptions& options) {
  Tensor pixels({options.batch, config.num_channels, options.image_size.height, options.image_size.width});
  for (std::int64_t i = 0; i < pixels.size(); ++i)
    pixels.data()[i] = static_cast<float>(i % 255) / 127.5F - 1;
  return pixels;
}

}  // namespace

BenchRounds::BenchRounds(std::shared_ptr<const Model> model, const SessionOptions& options,
                         Precision precision)
    : profile_(std::make_unique<Profile>()),
      session_(model, profiled(options, profile_.get())),
      pixel_values_(some_pixels(model->config(), session_.options())),
      precision_(precision),
      limit_(session_.options().threads, precision) {}

double BenchRounds::time_network() {
  return seconds_of([&] { session_.forward(pixel_values_.view()); });
}

double BenchRounds::time_limit() {
  return seconds_of([&] { limit_.run(); });
}

Round BenchRounds::run() {
  const double network = time_network();
  return {network, time_limit()};
}

Round BenchRounds::run_after_others(int passes) {
  time_network();
  std::vector<double> seconds(static_cast<std::size_t>(passes));
  for (double& s : seconds) s = time_network();
  const auto middle = seconds.begin() + passes / 2;
  std::nth_element(seconds.begin(), middle, seconds.end());
  time_limit();
  return {*middle, time_limit()};
}

}  // namespace vit::apps
