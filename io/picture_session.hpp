// Pictures through one network: reading, preprocessing, batches, Sessions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
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

/// A checkpoint that takes pictures, packed, and the recipe to prepare them. Immutable: threads share it.
class PictureModel {
 public:
  /// Throws Error: what Model throws; model_unsupported if the model does not take RGB; config_invalid if the
  /// picture recipe is missing.
  explicit PictureModel(Checkpoint checkpoint, const ModelOptions& options = {});

  const CheckpointInfo& info() const { return info_; }
  const PreprocessConfig& recipe() const { return *info_.recipe; }
  const std::shared_ptr<const Model>& model() const { return model_; }

 private:
  CheckpointInfo info_;
  std::shared_ptr<const Model> model_;
};

/// A picture as it came, for what is to be made of it besides running the network.
struct KeptPicture {
  Image image;                   ///< decoded
  std::vector<std::byte> bytes;  ///< encoded, if Input had them
};

struct PictureSessionOptions {
  BusyClock* network = nullptr;  ///< runs while a picture is in the network; outlives the PictureSession
  std::int64_t merge = 0;        ///< as in SessionOptions
  bool keep = false;             ///< the pictures, for PictureResult::picture
};

/// What became of one input.
struct PictureResult {
  std::optional<Error> error;
  KeptPicture picture;  ///< with PictureSessionOptions::keep, where there is no error of the picture itself
};

/// One thread's way to use a PictureModel. Keeps a Session for each of the last few batch and image sizes and
/// numbers of threads.
class PictureSession {
 public:
  /// Throws Error(invalid_argument) where the network's tokens cannot be merged as asked.
  explicit PictureSession(std::shared_ptr<const PictureModel> model,
                          const PictureSessionOptions& options = {});

  /// Takes what the network gives for the input `index`: entry `b` of the outputs' first dimension. What it
  /// throws is that input's error.
  using Take = std::function<void(std::size_t index, const Outputs& outputs, std::int64_t b)>;

  /// One result for each input, in order; a picture that fails fails alone. `threads` as in SessionOptions.
  std::vector<PictureResult> run(std::vector<Input> inputs, int threads, const Take& take);

  /// Since the last call.
  StageTimes take_times() { return std::exchange(times_, {}); }

 private:
  struct Cached {
    SessionOptions options;
    std::unique_ptr<Session> session;
    std::uint64_t last_use = 0;
  };
  struct Loaded {
    std::size_t index = 0;
    std::string name;
    Tensor pixel_values;  // [3, H, W]
  };

  Session& session_for(std::int64_t batch, Size2 image, int threads);
  void run_batch(std::span<const Loaded> pictures, int threads, const Take& take,
                 std::vector<PictureResult>& results);
  const Outputs& forward(std::span<const Loaded> pictures, int threads);

  std::shared_ptr<const PictureModel> model_;
  PictureSessionOptions options_;
  StageTimes times_;
  std::uint64_t uses_ = 0;
  std::vector<Cached> sessions_;
};

}  // namespace vit::io
