// The facade: pictures in, predictions out, by one checkpoint.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "io/checkpoint.hpp"
#include "io/image.hpp"
#include "io/input.hpp"
#include "io/preprocess.hpp"
#include "io/stopwatch.hpp"
#include "vit/model.hpp"
#include "vit/predict.hpp"
#include "vit/session.hpp"

namespace vit::io {

/// Seconds of work, of all cores together: what eight cores do in one second are eight.
struct StageTimes {
  double decode = 0;  ///< file to pixels
  double preprocess = 0;
  double network = 0;

  StageTimes& operator+=(const StageTimes& other);
};

/// Reads, if it is not there yet, and decodes one picture, turned as the recipe wants it; of a frame, the
/// frame. Throws Error: the input's own, or one with an image_… code; std::bad_alloc.
Image load_picture(Input input, const PreprocessConfig& recipe);

/// Reads, decodes and preprocesses one picture: [C, H, W]. Adds to `times`, and leaves the decoded picture in
/// `decoded`, if these are not null. Throws Error: the input's own, or one with an image_… code; anything
/// that the picture's data can cause is such an error.
Tensor load_pixel_values(Input input, const PreprocessConfig& recipe, StageTimes* times = nullptr,
                         Image* decoded = nullptr);

/// A checkpoint with a head, packed, and the recipe and labels to use it on pictures. Immutable: threads
/// share it.
class Classifier {
 public:
  /// Throws Error: what load_checkpoint throws; model_unsupported if the model has no classification head or
  /// does not take RGB; config_invalid if the picture recipe is missing.
  explicit Classifier(const std::filesystem::path& path, const ModelOptions& options = {});
  /// The same for a checkpoint that is loaded already. Throws Error: model_unsupported, config_invalid as
  /// above.
  explicit Classifier(Checkpoint checkpoint, const ModelOptions& options = {});

  const CheckpointInfo& info() const { return info_; }
  const PreprocessConfig& recipe() const { return *info_.recipe; }
  const std::shared_ptr<const Model>& model() const { return model_; }

 private:
  CheckpointInfo info_;
  std::shared_ptr<const Model> model_;
};

/// Files in memory that were made of a picture.
using Attachments = std::vector<std::vector<std::byte>>;

/// What became of one input.
struct Answer {
  std::string input;
  std::optional<FramePosition> frame;      ///< of a video or an animation
  std::vector<Prediction> predictions;     ///< best first
  std::optional<Error> error;              ///< then there are no predictions
  Attachments attachments = {};            ///< what ClassifierSessionOptions::attach made
};

/// A picture that was classified, for what is to be made of it.
struct ClassifiedPicture {
  Image image;                   ///< decoded
  std::vector<std::byte> bytes;  ///< encoded, if Input had them
};

/// Makes what goes with an answer, on the core that has the picture at hand: it may take its time. Called
/// by several threads, for answers without an error. Throws Error, which becomes that of the answer;
/// std::bad_alloc.
using Attach = std::function<Attachments(ClassifiedPicture, const Answer&)>;

struct ClassifierSessionOptions {
  BusyClock* network = nullptr;  ///< runs while a picture is in the network; outlives the ClassifierSession
  std::int64_t merge = 0;        ///< as in SessionOptions
  Attach attach = nullptr;       ///< if there is one
};

/// One thread's way to use a Classifier. Keeps a Session for each of the last few batch and image sizes and
/// numbers of threads.
class ClassifierSession {
 public:
  /// Throws Error(invalid_argument) where the network's tokens cannot be merged as asked.
  explicit ClassifierSession(std::shared_ptr<const Classifier> classifier,
                             const ClassifierSessionOptions& options = {});

  /// One answer for each input, in order; a picture that fails fails alone. `k`: predictions for each;
  /// `threads` as in SessionOptions.
  std::vector<Answer> classify(std::vector<Input> inputs, std::int64_t k, int threads);

  /// Since the last call.
  StageTimes take_times() { return std::exchange(times_, {}); }

 private:
  struct Cached {
    SessionOptions options;
    std::unique_ptr<Session> session;
    std::uint64_t last_use = 0;
  };

  Session& session_for(std::int64_t batch, Size2 image, int threads);
  void attach(std::vector<ClassifiedPicture> pictures, std::vector<Answer>& answers) const;
  void run_batch(std::span<const Tensor*> pictures, std::span<Answer*> answers, std::int64_t k, int threads);
  ConstTensorView forward(std::span<const Tensor*> pictures, int threads);

  std::shared_ptr<const Classifier> classifier_;
  ClassifierSessionOptions options_;
  StageTimes times_;
  std::uint64_t uses_ = 0;
  std::vector<Cached> sessions_;
};

}  // namespace vit::io
