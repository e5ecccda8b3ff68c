#include "io/attention_session.hpp"

#include <utility>

namespace vit::io {

AttentionSession::AttentionSession(std::shared_ptr<const Model> model, PreprocessConfig recipe)
    : model_(std::move(model)), recipe_(std::move(recipe)) {}

AttentionView AttentionSession::look(Image picture, AttentionRecorder::Rollout rollout, int threads) {
  const Tensor pixel_values = preprocess(picture, recipe_);  // [3, H, W]
  const InputGeometry geometry = input_geometry({picture.height, picture.width}, recipe_);
  Session& session = session_for(geometry.input, threads);
  AttentionRecorder recorder(model_->config(), geometry.input, rollout);
  session.forward({pixel_values.data(), {1, 3, geometry.input.height, geometry.input.width}}, &recorder);
  return {std::move(picture), place_patches(geometry, model_->config().patch_size), recorder.finish()};
}

Session& AttentionSession::session_for(Size2 image, int threads) {
  if (!session_ || wanted_.image_size != image || wanted_.threads != threads) {
    session_.reset();  // before another one takes its memory
    wanted_ = {.image_size = image, .threads = threads, .attention_maps = true};
    session_ = std::make_unique<Session>(model_, wanted_);
  }
  return *session_;
}

}  // namespace vit::io
