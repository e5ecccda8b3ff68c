#include "io/picture_session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <new>

#include "vit/file.hpp"
#include "vit/token_counts.hpp"

namespace vit::io {
namespace {

// Batches shrink towards the end of a run (8, 4, 2, 1) and pictures of a recipe without a fixed size may
// differ.
constexpr std::size_t kMaxSessions = 6;

Size2 size_of_picture(const Tensor& pixel_values) {
  return {pixel_values.shape()[1], pixel_values.shape()[2]};
}

}  // namespace

StageTimes& StageTimes::operator+=(const StageTimes& other) {
  decode += other.decode;
  preprocess += other.preprocess;
  network += other.network;
  return *this;
}

Image load_picture(Input input, const PreprocessConfig& recipe) {
  if (input.error) throw std::move(*input.error);
  if (input.image) {
    if (recipe.exif == Exif::apply) turn_upright(*input.image);
    return std::move(*input.image);
  }
  if (input.bytes.empty()) input.bytes = read_file(input.name, kMaxPictureBytes, FileErrors::image());
  return decode_image(input.bytes, input.name, {.exif = recipe.exif, .transparency = recipe.transparency});
}

Tensor load_pixel_values(Input input, const PreprocessConfig& recipe, StageTimes* times, Image* decoded) {
  const std::string name = input.name;
  StageTimes ignored;
  StageTimes& to = times == nullptr ? ignored : *times;
  try {
    Timer decoding(to.decode);
    Image image = load_picture(std::move(input), recipe);
    decoding.stop();
    const Timer preprocessing(to.preprocess);
    Tensor pixel_values = preprocess(image, recipe);
    if (decoded != nullptr) *decoded = std::move(image);
    return pixel_values;
  } catch (const std::bad_alloc&) {
    throw Error(ErrorCode::image_too_large, fmt::format("{}: not enough memory for this picture", name));
  }
}

PictureModel::PictureModel(Checkpoint checkpoint, const ModelOptions& options)
    : info_(std::move(checkpoint.info)) {
  require_pictures(info_);
  model_ = std::make_shared<Model>(info_.config, std::move(checkpoint.weights), options);
}

PictureSession::PictureSession(std::shared_ptr<const PictureModel> model,
                               const PictureSessionOptions& options)
    : model_(std::move(model)), options_(options) {
  validate_merge(model_->info().config, options_.merge);
}

std::vector<PictureResult> PictureSession::run(std::vector<Input> inputs, int threads, const Take& take) {
  std::vector<PictureResult> results(inputs.size());
  std::vector<Loaded> batch;
  const auto run_loaded = [&] {
    if (!batch.empty()) run_batch(batch, threads, take, results);
    batch.clear();
  };
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    Loaded loaded{i, inputs[i].name, {}};
    try {
      KeptPicture& kept = results[i].picture;
      if (options_.keep) kept.bytes = inputs[i].bytes;
      loaded.pixel_values = load_pixel_values(std::move(inputs[i]), model_->recipe(), &times_,
                                              options_.keep ? &kept.image : nullptr);
    } catch (const Error& e) {
      results[i].error = e;
      continue;
    }
    if (!batch.empty() && batch.front().pixel_values.shape() != loaded.pixel_values.shape()) run_loaded();
    batch.push_back(std::move(loaded));
  }
  run_loaded();
  return results;
}

void PictureSession::run_batch(std::span<const Loaded> pictures, int threads, const Take& take,
                               std::vector<PictureResult>& results) {
  const auto fail = [&](const Loaded& picture, const Error& e) {
    results[picture.index].error = Error(e.code(), picture.name + ": " + e.what());
  };
  const auto fail_all = [&](const Error& e) {
    for (const Loaded& picture : pictures) fail(picture, e);
  };
  try {
    const Outputs& outputs = forward(pictures, threads);
    for (std::size_t b = 0; b < pictures.size(); ++b) {
      try {
        take(pictures[b].index, outputs, static_cast<std::int64_t>(b));
      } catch (const Error& e) {
        fail(pictures[b], e);
      }
    }
  } catch (const Error& e) {
    if (e.code() == ErrorCode::internal) throw;
    fail_all(e);  // this picture's size does not fit the network
  } catch (const std::bad_alloc&) {
    fail_all(
        Error(ErrorCode::image_too_large, "not enough memory to run the network on a picture of this size"));
  }
}

/// The outputs lie in the Session.
const Outputs& PictureSession::forward(std::span<const Loaded> pictures, int threads) {
  const auto B = static_cast<std::int64_t>(pictures.size());
  const Tensor& first = pictures.front().pixel_values;
  const Size2 size = size_of_picture(first);
  Tensor stacked;
  ConstTensorView pixel_values{first.data(), {B, 3, size.height, size.width}};
  if (B > 1) {
    stacked = Tensor(pixel_values.shape);
    float* next = stacked.data();
    for (const Loaded& picture : pictures)
      next = std::copy_n(picture.pixel_values.data(), first.size(), next);
    pixel_values.data = stacked.data();
  }
  double seconds = 0;
  Timer timer(seconds);
  const BusyClock::Use in_use(options_.network);
  Session& session = session_for(B, size, threads);
  const Outputs& outputs = session.forward(pixel_values);
  timer.stop();
  times_.network += seconds * session.options().threads;
  return outputs;
}

Session& PictureSession::session_for(std::int64_t batch, Size2 image, int threads) {
  const SessionOptions wanted{
      .batch = batch, .image_size = image, .threads = threads, .merge = options_.merge};
  ++uses_;
  for (Cached& cached : sessions_) {
    const SessionOptions& has = cached.options;
    if (has.batch == batch && has.image_size == image && has.threads == threads) {
      cached.last_use = uses_;
      return *cached.session;
    }
  }
  if (sessions_.size() == kMaxSessions) {
    sessions_.erase(
        std::min_element(sessions_.begin(), sessions_.end(),
                         [](const Cached& a, const Cached& b) { return a.last_use < b.last_use; }));
  }
  sessions_.push_back({wanted, std::make_unique<Session>(model_->model(), wanted), uses_});
  return *sessions_.back().session;
}

}  // namespace vit::io
