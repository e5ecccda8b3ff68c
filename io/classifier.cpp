#include "io/classifier.hpp"

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

Classifier::Classifier(const std::filesystem::path& path, const ModelOptions& options)
    : Classifier(load_checkpoint(path), options) {}

Classifier::Classifier(Checkpoint checkpoint, const ModelOptions& options)
    : info_(std::move(checkpoint.info)) {
  require_classifier(info_);
  model_ = std::make_shared<Model>(info_.config, std::move(checkpoint.weights), options);
}

ClassifierSession::ClassifierSession(std::shared_ptr<const Classifier> classifier,
                                     const ClassifierSessionOptions& options)
    : classifier_(std::move(classifier)), options_(options) {
  validate_merge(classifier_->info().config, options_.merge);
}

std::vector<Answer> ClassifierSession::classify(std::vector<Input> inputs, std::int64_t k, int threads) {
  std::vector<Answer> answers(inputs.size());
  std::vector<Tensor> pictures(inputs.size());
  std::vector<ClassifiedPicture> kept(options_.attach ? inputs.size() : 0);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    answers[i].input = inputs[i].name;
    answers[i].frame = inputs[i].frame;
    try {
      if (options_.attach) kept[i].bytes = inputs[i].bytes;
      pictures[i] = load_pixel_values(std::move(inputs[i]), classifier_->recipe(), &times_,
                                      options_.attach ? &kept[i].image : nullptr);
    } catch (const Error& e) {
      answers[i].error = e;
    }
  }
  std::vector<const Tensor*> batch;
  std::vector<Answer*> batch_answers;
  const auto run = [&] {
    if (!batch.empty()) run_batch(batch, batch_answers, k, threads);
    batch.clear();
    batch_answers.clear();
  };
  for (std::size_t i = 0; i < pictures.size(); ++i) {
    if (answers[i].error) continue;
    if (!batch.empty() && batch.front()->shape() != pictures[i].shape()) run();
    batch.push_back(&pictures[i]);
    batch_answers.push_back(&answers[i]);
  }
  run();
  attach(std::move(kept), answers);
  return answers;
}

void ClassifierSession::attach(std::vector<ClassifiedPicture> pictures, std::vector<Answer>& answers) const {
  for (std::size_t i = 0; i < pictures.size(); ++i) {
    Answer& answer = answers[i];
    if (answer.error) continue;
    try {
      answer.attachments = options_.attach(std::move(pictures[i]), answer);
    } catch (const Error& e) {
      answer.error = e;
    } catch (const std::bad_alloc&) {
      answer.error = Error(ErrorCode::image_too_large, answer.input + ": not enough memory for this picture");
    }
    if (answer.error) answer.predictions.clear();
  }
}

void ClassifierSession::run_batch(std::span<const Tensor*> pictures, std::span<Answer*> answers,
                                  std::int64_t k, int threads) {
  const auto fail_all = [&](const Error& e) {
    for (Answer* answer : answers) answer->error = Error(e.code(), answer->input + ": " + e.what());
  };
  try {
    const ConstTensorView logits = forward(pictures, threads);  // [B, K]
    const std::int64_t K = logits.shape[1];
    for (std::size_t i = 0; i < answers.size(); ++i) {
      Answer& answer = *answers[i];
      try {
        answer.predictions =
            predict({logits.data + static_cast<std::int64_t>(i) * K, static_cast<std::size_t>(K)},
                    classifier_->info().score_function, k);
      } catch (const Error& e) {
        answer.error = Error(e.code(), answer.input + ": " + e.what());
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

/// The logits lie in the Session.
ConstTensorView ClassifierSession::forward(std::span<const Tensor*> pictures, int threads) {
  const auto B = static_cast<std::int64_t>(pictures.size());
  const Size2 size = size_of_picture(*pictures.front());
  const std::int64_t picture_floats = pictures.front()->size();
  Tensor stacked;
  ConstTensorView pixel_values{pictures.front()->data(), {B, 3, size.height, size.width}};
  if (B > 1) {
    stacked = Tensor(pixel_values.shape);
    float* next = stacked.data();
    for (const Tensor* picture : pictures) next = std::copy_n(picture->data(), picture_floats, next);
    pixel_values.data = stacked.data();
  }
  double seconds = 0;
  Timer timer(seconds);
  const BusyClock::Use in_use(options_.network);
  Session& session = session_for(B, size, threads);
  const ConstTensorView logits = session.forward(pixel_values).logits;
  timer.stop();
  times_.network += seconds * session.options().threads;
  return logits;
}

Session& ClassifierSession::session_for(std::int64_t batch, Size2 image, int threads) {
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
  sessions_.push_back({wanted, std::make_unique<Session>(classifier_->model(), wanted), uses_});
  return *sessions_.back().session;
}

}  // namespace vit::io
