#include "export/onnx_verify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "vit/error.hpp"
#include "vit/session.hpp"
#include "vit/stage_name.hpp"

namespace vit::exporter {
namespace {

/// 32 pseudo-random bits for a number (the finaliser of MurmurHash3), the same everywhere.
std::uint32_t noise(std::uint64_t i) {
  i ^= i >> 33U;
  i *= 0xFF51AFD7ED558CCDU;
  i ^= i >> 33U;
  i *= 0xC4CEB9FE1A85EC53U;
  return static_cast<std::uint32_t>(i >> 32U);
}

/// Noise on top of a coarse pattern that differs between pictures: in noise alone every picture is the same
/// to a network, and a mix-up of two would not show. In [0, 1).
float picture_value(std::int64_t picture, std::int64_t channel, std::int64_t y, std::int64_t x) {
  const auto at = [](std::int64_t a, std::int64_t b, std::int64_t c, std::int64_t d) {
    return static_cast<float>(noise(static_cast<std::uint64_t>(((a * 64 + b) * 65536 + c) * 65536 + d + 1)) >>
                              8U) *
           0x1p-24F;
  };
  return 0.7F * at(picture, channel, y / 16, x / 16) + 0.3F * at(picture, channel + 32, y, x);
}

/// Keeps the stages that are outputs of the graph.
class Collector : public Observer {
 public:
  Collector(const Graph& graph, std::int64_t pictures) : pictures_(pictures) {
    for (const ValueInfo& output : graph.outputs) values_[output.name];
  }

  void next_picture() { ++picture_; }

  void on_stage(Stage stage, std::int64_t block, const ConstTensorView& tensor) override {
    keep(stage_name(stage, block), tensor);
    if (stage == Stage::logits) keep("probabilities", tensor);  // of these, apply_scores makes them
  }

  NamedTensors take() { return std::move(values_); }

 private:
  void keep(const std::string& name, const ConstTensorView& tensor) {
    const auto found = values_.find(name);
    if (found == values_.end()) return;
    if (!std::all_of(tensor.data, tensor.data + tensor.size(), [](float x) { return std::isfinite(x); }))
      throw Error(ErrorCode::not_finite, fmt::format("the network gives NaN or infinity for {}", name));
    if (picture_ == 0) {
      Shape shape = tensor.shape;
      shape.front() = pictures_;
      found->second = Tensor(std::move(shape));
    }
    std::copy_n(tensor.data, tensor.size(), found->second.data() + picture_ * tensor.size());
  }

  std::int64_t pictures_;
  std::int64_t picture_ = 0;
  NamedTensors values_;
};

/// In double precision, by the definition.
void apply_scores(Tensor& logits, ScoreFunction function) {
  const std::int64_t K = logits.shape().back();
  for (std::int64_t row = 0; row < logits.size() / K; ++row) {
    float* values = logits.data() + row * K;
    const double largest = static_cast<double>(*std::max_element(values, values + K));
    double sum = 0;
    for (std::int64_t k = 0; k < K; ++k) sum += std::exp(static_cast<double>(values[k]) - largest);
    for (std::int64_t k = 0; k < K; ++k) {
      const auto z = static_cast<double>(values[k]);
      values[k] = static_cast<float>(function == ScoreFunction::softmax ? std::exp(z - largest) / sum
                                                                        : 1 / (1 + std::exp(-z)));
    }
  }
}

std::int64_t top1(const float* row, std::int64_t K) {
  return std::max_element(row, row + K) - row;
}

}  // namespace

InputValue TestPictures::first(std::int64_t count) const {
  InputValue value{input.data(), type, shape};
  value.shape.front() = count;
  return value;
}

TestPictures test_pictures(const ModelConfig& config, const GraphOptions& options, std::int64_t count) {
  const Size2 image = options.image_size == Size2{} ? config.image_size : options.image_size;
  const std::int64_t C = config.num_channels;
  TestPictures pictures;
  pictures.pixel_values = Tensor({count, C, image.height, image.width});
  const bool bytes = options.byte_input.has_value();
  if (bytes) pictures.input.resize(static_cast<std::size_t>(pictures.pixel_values.size()));
  float* value = pictures.pixel_values.data();
  for (std::int64_t b = 0; b < count; ++b) {
    for (std::int64_t c = 0; c < C; ++c) {
      for (std::int64_t y = 0; y < image.height; ++y) {
        for (std::int64_t x = 0; x < image.width; ++x, ++value) {
          const float v = picture_value(b, c, y, x);
          if (!bytes) {
            *value = 4 * v - 2;  // about what normalisation gives
            continue;
          }
          const auto byte = static_cast<unsigned>(v * 256);
          const auto channel = static_cast<std::size_t>(c);
          *value = static_cast<float>(byte) * options.byte_input->scale[channel] +
                   options.byte_input->offset[channel];
          pictures.input[static_cast<std::size_t>(((b * image.height + y) * image.width + x) * C + c)] =
              std::byte(byte);
        }
      }
    }
  }
  pictures.type = bytes ? ElementType::u8 : ElementType::f32;
  pictures.shape = bytes ? Shape{count, image.height, image.width, C} : pictures.pixel_values.shape();
  if (!bytes) {
    pictures.input.resize(static_cast<std::size_t>(pictures.pixel_values.size()) * sizeof(float));
    std::memcpy(pictures.input.data(), pictures.pixel_values.data(), pictures.input.size());
  }
  return pictures;
}

NamedTensors run_engine(const std::shared_ptr<const Model>& model, const Graph& graph,
                        const GraphOptions& options, const TestPictures& pictures, int threads) {
  const Shape& shape = pictures.pixel_values.shape();
  const bool attentions = std::any_of(graph.outputs.begin(), graph.outputs.end(),
                                      [](const ValueInfo& o) { return o.name.starts_with("attentions."); });
  Session session(
      model,
      {.batch = 1, .image_size = {shape[2], shape[3]}, .threads = threads, .attention_maps = attentions});
  Collector collector(graph, shape[0]);
  const std::int64_t picture_size = pictures.pixel_values.size() / shape[0];
  for (std::int64_t b = 0; b < shape[0]; ++b) {
    session.forward({pictures.pixel_values.data() + b * picture_size, {1, shape[1], shape[2], shape[3]}},
                    &collector);
    collector.next_picture();
  }
  NamedTensors values = collector.take();
  if (const auto found = values.find("probabilities"); found != values.end())
    apply_scores(found->second, options.score_function);
  return values;
}

OutputDifference difference(std::string_view name, const ConstTensorView& got,
                            const ConstTensorView& expected) {
  OutputDifference result{std::string(name), got.shape.empty() ? 0 : got.shape.front(), 0, 0, {}};
  Shape rows = expected.shape;
  if (!rows.empty()) rows.front() = result.batch;
  if (got.shape != rows || got.size() > expected.size()) {
    throw Error(ErrorCode::verification_failed,
                fmt::format("{} has shape {}, expected {}", name, to_string(got.shape), to_string(rows)));
  }
  for (std::int64_t i = 0; i < got.size(); ++i) {
    const double delta = std::fabs(static_cast<double>(got.data[i]) - static_cast<double>(expected.data[i]));
    if (!std::isfinite(delta)) {
      result.largest = std::numeric_limits<double>::quiet_NaN();
      break;
    }
    result.largest = std::max(result.largest, delta);
    result.magnitude = std::max(result.magnitude, std::fabs(static_cast<double>(expected.data[i])));
  }
  if (name == "logits" || name == "probabilities") {
    const std::int64_t K = got.shape.back();
    result.same_top1 = 0;
    for (std::int64_t row = 0; row < result.batch; ++row)
      *result.same_top1 += top1(got.data + row * K, K) == top1(expected.data + row * K, K) ? 1 : 0;
  }
  return result;
}

NamedTensors run_graph(const GraphRunner& runner, const Graph& graph, const TestPictures& pictures,
                       std::int64_t batch) {
  return runner.run({{graph.inputs.front().name, pictures.first(batch)}});
}

std::vector<OutputDifference> differences(const Graph& graph, const NamedTensors& got,
                                          const NamedTensors& expected) {
  std::vector<OutputDifference> result;
  for (const ValueInfo& output : graph.outputs)
    result.push_back(difference(output.name, got.at(output.name).view(), expected.at(output.name).view()));
  return result;
}

}  // namespace vit::exporter
