// Pictures in, vectors out: what stands for a picture when pictures are compared.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/bulk.hpp"
#include "io/input_sequence.hpp"
#include "io/picture_session.hpp"
#include "vit/tensor.hpp"

namespace vit::io {

/// Which of a network's outputs, of D or F (feature size) numbers.
enum class EmbeddingPool {
  features,  ///< [F]: Outputs::features, the model's own
  cls,       ///< [D]: the class token of last_hidden_state
  mean,      ///< [D]: the mean of the patches' tokens of last_hidden_state
  patches,   ///< [N, D]: each patch's token of last_hidden_state, rows of patches from the top
};

/// "features", "cls", "mean", "patches"
std::string_view to_string(EmbeddingPool pool);

struct EmbeddingOptions {
  EmbeddingPool pool = EmbeddingPool::features;
  bool normalize = false;  ///< each vector x becomes x / max(‖x‖₂, 1e-12), as torch.nn.functional.normalize
  std::int64_t merge = 0;  ///< as in SessionOptions
};

/// What became of one input.
struct Embedding {
  std::string input;
  std::optional<FramePosition> frame;  ///< of a video or an animation
  Tensor values;                       ///< [F], [D] or [N, D], as EmbeddingPool says
  std::optional<Error> error;          ///< then there are no values
};

/// One thread's way to embed pictures.
class EmbeddingSession {
 public:
  /// Throws Error(invalid_argument): cls of a model without a class token; tokens that cannot be merged, or
  /// are where single ones are wanted (all but `features`).
  EmbeddingSession(std::shared_ptr<const PictureModel> model, const EmbeddingOptions& options,
                   BusyClock* network = nullptr);

  /// One embedding for each input, in order; a picture that fails fails alone, with not_finite where the
  /// network gives NaN or infinity. `threads` as in SessionOptions.
  std::vector<Embedding> embed(std::vector<Input> inputs, int threads);

  /// Since the last call.
  StageTimes take_times() { return pictures_.take_times(); }

 private:
  Tensor take(const Outputs& outputs, std::int64_t b) const;

  std::shared_ptr<const PictureModel> model_;
  EmbeddingOptions options_;
  PictureSession pictures_;
};

/// The embedding, of one dimension, of a picture that is always the same: two models that give (nearly) the
/// same for it see pictures in the same way, however they are stored. Throws Error as EmbeddingSession, and
/// what the network makes of the picture.
std::vector<float> embed_test_picture(const std::shared_ptr<const PictureModel>& model,
                                      const EmbeddingOptions& options, int threads);

/// An Embedding for each input to `sink`, as run_bulk does. Throws Error(invalid_argument) as
/// EmbeddingSession, and what `sink` throws.
BulkTimes embed_pictures(const std::shared_ptr<const PictureModel>& model, const EmbeddingOptions& options,
                         InputSequence& inputs, const BulkLimits& limits,
                         const std::function<void(Embedding)>& sink);

}  // namespace vit::io
