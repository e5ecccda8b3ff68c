// Pictures in, what the network looks at out.
#pragma once

#include <memory>

#include "io/attention_image.hpp"
#include "io/attention_maps.hpp"
#include "io/image.hpp"
#include "io/preprocess.hpp"
#include "vit/model.hpp"
#include "vit/session.hpp"

namespace vit::io {

/// A picture and what the network looked at.
struct AttentionView {
  Image picture;           ///< as the network got it, with its orientation
  MapPlacement placement;  ///< of the patches on it
  AttentionMaps maps;
};

/// One thread's way from pictures to attention maps, by any model that takes RGB. Keeps the Session of the
/// last picture's size: h T² floats and more.
class AttentionSession {
 public:
  AttentionSession(std::shared_ptr<const Model> model, PreprocessConfig recipe);

  /// `threads` as in SessionOptions. Throws Error: those of preprocess; invalid_argument (a size that does
  /// not fit the network); not_finite; std::bad_alloc.
  AttentionView look(Image picture, AttentionRecorder::Rollout rollout, int threads = 0);

 private:
  Session& session_for(Size2 image, int threads);

  std::shared_ptr<const Model> model_;
  PreprocessConfig recipe_;
  std::unique_ptr<Session> session_;
  SessionOptions wanted_;  // of session_, as it was asked for
};

}  // namespace vit::io
