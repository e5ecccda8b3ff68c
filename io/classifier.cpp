#include "io/classifier.hpp"

#include <new>
#include <utility>

namespace vit::io {
namespace {

/// Before anything is packed.
Checkpoint with_head(Checkpoint checkpoint) {
  require_classifier(checkpoint.info);
  return checkpoint;
}

}  // namespace

Classifier::Classifier(const std::filesystem::path& path, const ModelOptions& options)
    : Classifier(load_checkpoint(path), options) {}

Classifier::Classifier(Checkpoint checkpoint, const ModelOptions& options)
    : PictureModel(with_head(std::move(checkpoint)), options) {}

ClassifierSession::ClassifierSession(std::shared_ptr<const Classifier> classifier,
                                     const ClassifierSessionOptions& options)
    : classifier_(std::move(classifier)),
      attach_(options.attach),
      pictures_(
          classifier_,
          {.network = options.network, .merge = options.merge, .keep = static_cast<bool>(options.attach)}) {}

std::vector<Answer> ClassifierSession::classify(std::vector<Input> inputs, std::int64_t k, int threads) {
  std::vector<Answer> answers(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    answers[i].input = inputs[i].name;
    answers[i].frame = inputs[i].frame;
  }
  const auto predict_one = [&](std::size_t i, const Outputs& outputs, std::int64_t b) {
    const std::int64_t K = outputs.logits.shape[1];
    answers[i].predictions = predict({outputs.logits.data + b * K, static_cast<std::size_t>(K)},
                                     classifier_->info().score_function, k);
  };
  std::vector<PictureResult> results = pictures_.run(std::move(inputs), threads, predict_one);
  for (std::size_t i = 0; i < answers.size(); ++i) answers[i].error = results[i].error;
  if (attach_) attach(std::move(results), answers);
  return answers;
}

void ClassifierSession::attach(std::vector<PictureResult> results, std::vector<Answer>& answers) const {
  for (std::size_t i = 0; i < answers.size(); ++i) {
    Answer& answer = answers[i];
    if (answer.error) continue;
    try {
      answer.attachments = attach_(std::move(results[i].picture), answer);
    } catch (const Error& e) {
      answer.error = e;
    } catch (const std::bad_alloc&) {
      answer.error = Error(ErrorCode::image_too_large, answer.input + ": not enough memory for this picture");
    }
    if (answer.error) answer.predictions.clear();
  }
}

}  // namespace vit::io
