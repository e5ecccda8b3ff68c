// The facade: pictures in, predictions out, by one checkpoint.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/picture_session.hpp"
#include "vit/predict.hpp"

namespace vit::io {

/// A checkpoint with a head, packed, and the recipe and labels to use it on pictures. Immutable: threads
/// share it.
class Classifier : public PictureModel {
 public:
  /// Throws Error: what load_checkpoint throws; model_unsupported if the model has no classification head or
  /// does not take RGB; config_invalid if the picture recipe is missing.
  explicit Classifier(const std::filesystem::path& path, const ModelOptions& options = {});
  /// The same for a checkpoint that is loaded already. Throws Error: model_unsupported, config_invalid as
  /// above.
  explicit Classifier(Checkpoint checkpoint, const ModelOptions& options = {});
};

/// Files in memory that were made of a picture.
using Attachments = std::vector<std::vector<std::byte>>;

/// What became of one input.
struct Answer {
  std::string input;
  std::optional<FramePosition> frame;   ///< of a video or an animation
  std::vector<Prediction> predictions;  ///< best first
  std::optional<Error> error;           ///< then there are no predictions
  Attachments attachments = {};         ///< what ClassifierSessionOptions::attach made
};

/// A picture that was classified, for what is to be made of it.
using ClassifiedPicture = KeptPicture;

/// Makes what goes with an answer, on the core that has the picture at hand: it may take its time. Called
/// by several threads, for answers without an error. Throws Error, which becomes that of the answer;
/// std::bad_alloc.
using Attach = std::function<Attachments(ClassifiedPicture, const Answer&)>;

struct ClassifierSessionOptions {
  BusyClock* network = nullptr;  ///< runs while a picture is in the network; outlives the ClassifierSession
  std::int64_t merge = 0;        ///< as in SessionOptions
  Attach attach = nullptr;       ///< if there is one
};

/// One thread's way to use a Classifier.
class ClassifierSession {
 public:
  /// Throws Error(invalid_argument) where the network's tokens cannot be merged as asked.
  explicit ClassifierSession(std::shared_ptr<const Classifier> classifier,
                             const ClassifierSessionOptions& options = {});

  /// One answer for each input, in order; a picture that fails fails alone. `k`: predictions for each;
  /// `threads` as in SessionOptions.
  std::vector<Answer> classify(std::vector<Input> inputs, std::int64_t k, int threads);

  /// Since the last call.
  StageTimes take_times() { return pictures_.take_times(); }

 private:
  void attach(std::vector<PictureResult> results, std::vector<Answer>& answers) const;

  std::shared_ptr<const Classifier> classifier_;
  Attach attach_;
  PictureSession pictures_;
};

}  // namespace vit::io
