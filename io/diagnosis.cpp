#include "io/diagnosis.hpp"

#include <fmt/format.h>

#include <optional>
#include <string_view>
#include <utility>

#include "vit/precision.hpp"

namespace vit::io {
namespace {

class Diagnosis {
 public:
  explicit Diagnosis(const CheckpointInfo& info) : info_(info) {}

  std::vector<Warning> make() && {
    look_at_head();
    look_at_labels();
    look_at_recipe();
    look_at_positions();
    look_at_precision();
    look_at_tensors();
    return std::move(warnings_);
  }

 private:
  template <class... Args>
  void warn(std::string_view topic, fmt::format_string<Args...> text, Args&&... args) {
    warnings_.push_back({std::string(topic), fmt::format(text, std::forward<Args>(args)...)});
  }

  void look_at_head() {
    if (info_.config.num_classes == 0)
      warn("head", "there is no classification head: embed and attention can use the model, classify cannot");
    if (info_.config.num_channels != 3)
      warn("channels", "the network takes {} channels: pictures have 3, so that only run can use it",
           info_.config.num_channels);
  }

  /// LABEL_0, LABEL_1, …: what transformers writes where nobody gave names.
  bool are_placeholders() const {
    for (std::int64_t i = 0; i < info_.labels.size(); ++i)
      if (info_.labels.name(i) != fmt::format("LABEL_{}", i)) return false;
    return true;
  }

  void look_at_labels() {
    const std::int64_t classes = info_.config.num_classes;
    const std::int64_t named = info_.labels.named();
    if (classes == 0) return;
    if (named > 0 && are_placeholders()) {
      warn("labels", "the {} classes have no names but LABEL_0, LABEL_1, …: --labels FILE gives them some",
           classes);
    } else if (named < classes) {
      warn("labels",
           "{} of the {} classes that the head has are without a name, and shown by their index: is it "
           "another "
           "head than the labels are for? --labels FILE gives names",
           classes - named, classes);
    }
  }

  void look_at_recipe() {
    if (!info_.recipe) {
      if (info_.recipe_error) warn("recipe", "{}", info_.recipe_error->what());
      return;
    }
    if (info_.recipe_assumed) {
      warn("recipe",
           "no file says how these weights' pictures are prepared; taken is {}. Fine-tuned weights may need "
           "another",
           info_.recipe->source);
    }
    if (!info_.recipe->rescale || !info_.recipe->normalize) {
      warn("recipe", "pictures are not {}, and few networks are trained so",
           info_.recipe->rescale ? "normalised by mean and standard deviation" : "scaled from 0 … 255");
    }
  }

  void look_at_positions() {
    if (info_.config.position_embedding == PositionEmbedding::none &&
        info_.config.relative_positions == RelativePositions::none)
      return;  // rotary ones go with every size
    const std::optional<Size2> pictures = info_.recipe ? fixed_size(*info_.recipe) : std::nullopt;
    const Size2 trained = info_.config.grid(info_.config.image_size);
    if (!pictures) {
      if (info_.recipe)
        warn("positions",
             "pictures keep their own sizes: positions of {}x{} patches are interpolated to each",
             trained.height, trained.width);
      return;
    }
    const Size2 grid = info_.config.grid(*pictures);
    if (grid == trained) return;
    warn("positions",
         "pictures of {}x{} pixels have {}x{} patches, positions are of {}x{} and interpolated: accuracy is "
         "best where the network was trained or tuned at this size",
         pictures->height, pictures->width, grid.height, grid.width, trained.height, trained.width);
  }

  void look_at_precision() {
    if (const std::string shortage = processor_shortage(info_.precision); !shortage.empty())
      warn("precision", "the weights are for {}: {}", to_string(info_.precision), shortage);
  }

  void look_at_tensors() {
    if (info_.unmatched.empty()) return;
    warn("tensors", "{} tensors of the file belong to no part of this network ({}{}): is it the right class?",
         info_.unmatched.size(), info_.unmatched.front(), info_.unmatched.size() > 1 ? ", …" : "");
  }

  const CheckpointInfo& info_;
  std::vector<Warning> warnings_;
};

}  // namespace

std::vector<Warning> diagnose(const CheckpointInfo& info) {
  return Diagnosis(info).make();
}

}  // namespace vit::io
