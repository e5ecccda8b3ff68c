#include "io/classifier.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <new>

#include "io/image.hpp"
#include "vit/file.hpp"

namespace vit::io {
namespace {

constexpr std::size_t kMaxPictureBytes = std::size_t{1} << 30;
// Batches shrink towards the end of a run (8, 4, 2, 1) and pictures of a recipe without a fixed size may
// differ.
constexpr std::size_t kMaxSessions = 6;

Size2 size_of_picture(const Tensor& pixel_values) {
  return {pixel_values.shape()[1], pixel_values.shape()[2]};
}

}  // namespace

Tensor load_pixel_values(const std::string& path, const PreprocessConfig& recipe) {
  try {
    const std::vector<std::byte> bytes = read_file(path, kMaxPictureBytes, FileErrors::image());
    const Image image = decode_image(bytes, path, {.exif = recipe.exif, .transparency = recipe.transparency});
    const Size2 size = recipe.output_size({image.height, image.width});
    Tensor pixel_values({3, size.height, size.width});
    preprocess(image, recipe, pixel_values.elements());
    return pixel_values;
  } catch (const std::bad_alloc&) {
    throw Error(ErrorCode::image_too_large, fmt::format("{}: not enough memory for this picture", path));
  }
}

Classifier::Classifier(const std::filesystem::path& path) : Classifier(load_checkpoint(path)) {}

Classifier::Classifier(Checkpoint checkpoint, const ModelOptions& options)
    : info_(std::move(checkpoint.info)) {
  require_classifier(info_);
  model_ = std::make_shared<Model>(info_.config, std::move(checkpoint.weights), options);
}

ClassifierSession::ClassifierSession(std::shared_ptr<const Classifier> classifier, int threads)
    : classifier_(std::move(classifier)), threads_(threads) {}

std::vector<Answer> ClassifierSession::classify(std::vector<Input> inputs, std::int64_t k) {
  std::vector<Answer> answers(inputs.size());
  std::vector<Tensor> pictures(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    answers[i].input = std::move(inputs[i].name);
    answers[i].error = std::move(inputs[i].error);
    if (answers[i].error) continue;
    try {
      pictures[i] = load_pixel_values(answers[i].input, classifier_->recipe());
    } catch (const Error& e) {
      answers[i].error = e;
    }
  }
  std::vector<const Tensor*> batch;
  std::vector<Answer*> batch_answers;
  const auto run = [&] {
    if (!batch.empty()) run_batch(batch, batch_answers, k);
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
  return answers;
}

void ClassifierSession::run_batch(std::span<const Tensor*> pictures, std::span<Answer*> answers,
                                  std::int64_t k) {
  const auto fail_all = [&](const Error& e) {
    for (Answer* answer : answers) answer->error = Error(e.code(), answer->input + ": " + e.what());
  };
  try {
    const auto batch = static_cast<std::int64_t>(pictures.size());
    const Size2 size = size_of_picture(*pictures.front());
    const std::int64_t picture_floats = pictures.front()->size();
    Session& session = session_for(batch, size);
    Tensor stacked;
    ConstTensorView pixel_values{pictures.front()->data(), {batch, 3, size.height, size.width}};
    if (batch > 1) {
      stacked = Tensor({batch, 3, size.height, size.width});
      for (std::int64_t i = 0; i < batch; ++i) {
        std::copy_n(pictures[static_cast<std::size_t>(i)]->data(), picture_floats,
                    stacked.data() + i * picture_floats);
      }
      pixel_values.data = stacked.data();
    }
    const ConstTensorView& logits = session.forward(pixel_values).logits;
    const std::int64_t K = logits.shape[1];
    for (std::int64_t i = 0; i < batch; ++i) {
      Answer& answer = *answers[static_cast<std::size_t>(i)];
      try {
        answer.predictions = predict({logits.data + i * K, static_cast<std::size_t>(K)},
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

Session& ClassifierSession::session_for(std::int64_t batch, Size2 image) {
  ++uses_;
  for (Cached& cached : sessions_) {
    if (cached.options.batch == batch && cached.options.image_size == image) {
      cached.last_use = uses_;
      return *cached.session;
    }
  }
  if (sessions_.size() == kMaxSessions) {
    sessions_.erase(
        std::min_element(sessions_.begin(), sessions_.end(),
                         [](const Cached& a, const Cached& b) { return a.last_use < b.last_use; }));
  }
  const SessionOptions options{.batch = batch, .image_size = image, .threads = threads_};
  sessions_.push_back({options, std::make_unique<Session>(classifier_->model(), options), uses_});
  return *sessions_.back().session;
}

}  // namespace vit::io
