#include "apps/cmd_verify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>

#include "apps/load_model.hpp"
#include "apps/output.hpp"
#include "export/graph_stages.hpp"
#include "export/onnx_file.hpp"
#include "export/onnx_verify.hpp"
#include "io/classifier.hpp"
#include "vit/quantised.hpp"
#include "vit/session.hpp"
#include "vit/stage_name.hpp"

namespace vit::apps {
namespace {

using exporter::StageValues;

/// One of the two: an ONNX file, evaluated as it is, or a checkpoint, run by the engine.
class Subject {
 public:
  Subject(const std::filesystem::path& path, int threads, const io::LoadOptions& options = {})
      : path_(path), threads_(threads) {
    if (is_onnx(path)) {
      file_ = std::make_unique<exporter::OnnxFile>(exporter::read_onnx(path));
      if (!file_->unsupported.empty()) {
        throw Error(ErrorCode::model_unsupported,
                    fmt::format("{}: {}: {}", path.string(), file_->description, file_->unsupported));
      }
      runner_ = std::make_unique<exporter::GraphRunner>(file_->graph, threads);
      if (file_->graph.find_metadata("vit.format") != nullptr) info_ = load_model(path, options).info;
    } else {
      io::Checkpoint checkpoint = load_model(path, options);
      info_ = std::move(checkpoint.info);
      rounded_ = stored_precision(info_->config, checkpoint.weights) == Precision::int8;
      model_ = std::make_shared<Model>(info_->config, std::move(checkpoint.weights));
    }
  }

  const std::filesystem::path& path() const { return path_; }
  /// Nothing for an ONNX file that Vitrine did not write.
  const std::optional<io::CheckpointInfo>& info() const { return info_; }

  /// Pixels of the pictures that it takes, where there is only one size.
  std::optional<Size2> fixed_size() const {
    if (!file_) return std::nullopt;
    const std::vector<exporter::Dim>& shape = file_->graph.inputs.at(0).shape;
    const std::size_t first = file_->graph.inputs[0].type == exporter::ElementType::u8 ? 1 : 2;
    if (shape.size() != 4) return std::nullopt;
    const auto* height = std::get_if<std::int64_t>(&shape[first]);
    const auto* width = std::get_if<std::int64_t>(&shape[first + 1]);
    return height != nullptr && width != nullptr ? std::optional(Size2{*height, *width}) : std::nullopt;
  }

  std::optional<exporter::ByteInput> byte_input() const {
    return file_ ? exporter::byte_input_of(file_->graph) : std::nullopt;
  }

  /// How exact it can be, as a share of the largest logit.
  double tolerance() const {
    constexpr double kRounded = 0.3;
    const std::string* weights = file_ ? file_->graph.find_metadata("vit.weights") : nullptr;
    if (rounded_) return kRounded;  // also where this processor computes with them in fp32
    if (weights == nullptr || *weights == "fp32") return 1e-4;
    return *weights == "fp16" ? 1e-2 : kRounded;
  }

  StageValues run(const Tensor& pixel_values);

 private:
  std::filesystem::path path_;
  int threads_;
  std::optional<io::CheckpointInfo> info_;
  std::unique_ptr<exporter::OnnxFile> file_;
  std::unique_ptr<exporter::GraphRunner> runner_;
  std::shared_ptr<const Model> model_;
  bool rounded_ = false;  // the weights are what vitrine quantize wrote
  std::unique_ptr<Session> session_;
};

class StageKeeper : public Observer {
 public:
  void on_stage(Stage stage, std::int64_t block, const ConstTensorView& tensor) override {
    if (stage == Stage::attention_probs) return;
    Tensor copy(tensor.shape);
    std::copy_n(tensor.data, tensor.size(), copy.data());
    values.emplace_back(stage_name(stage, block), std::move(copy));
  }

  StageValues values;
};

StageValues Subject::run(const Tensor& pixel_values) {
  if (runner_) return run_stages(file_->graph, *runner_, pixel_values);
  const Shape& chw = pixel_values.shape();
  const Size2 image{chw[1], chw[2]};
  if (!session_ || session_->options().image_size != image)
    session_ = std::make_unique<Session>(model_, SessionOptions{.image_size = image, .threads = threads_});
  StageKeeper keeper;
  session_->forward({pixel_values.data(), {1, chw[0], chw[1], chw[2]}}, &keeper);
  return std::move(keeper.values);
}

const Tensor* find_stage(const StageValues& values, const std::string& name) {
  const auto found =
      std::find_if(values.begin(), values.end(), [&](const auto& stage) { return stage.first == name; });
  return found == values.end() ? nullptr : &found->second;
}

/// The tokens of `value` [1, T, D] that `other` has as well: a file may have of the last block only those
/// that its outputs need, which are the first.
ConstTensorView common_tokens(const Tensor& value, const Tensor& other) {
  ConstTensorView view = value.view();
  if (view.shape.size() == 3 && other.shape().size() == 3)
    view.shape[1] = std::min(view.shape[1], other.shape()[1]);
  return view;
}

std::string top1_text(const Tensor& logits, const std::optional<io::CheckpointInfo>& info) {
  const auto best = std::max_element(logits.data(), logits.data() + logits.size()) - logits.data();
  const bool named = info && best < info->labels.size();
  return fmt::format("{} ({:.4f})", named ? info->labels.name(best) : std::to_string(best),
                     logits.data()[best]);
}

/// Compares picture by picture and keeps the worst of each stage.
class Comparison {
 public:
  Comparison(Subject& a, Subject& b, double tolerance) : a_(a), b_(b), tolerance_(tolerance) {}

  /// A line about one picture.
  std::string compare(const std::string& name, const Tensor& pixel_values) {
    const StageValues of_a = a_.run(pixel_values);
    const StageValues of_b = b_.run(pixel_values);
    for (const auto& [stage, value] : of_b) {
      if (const Tensor* other = find_stage(of_a, stage))
        add(stage, exporter::difference(stage, common_tokens(*other, value), common_tokens(value, *other)));
    }
    ++pictures_;
    const Tensor* logits_a = find_stage(of_a, "logits");
    const Tensor* logits_b = find_stage(of_b, "logits");
    if (logits_a == nullptr || logits_b == nullptr) return fmt::format("{}\n", name);
    const exporter::OutputDifference d = exporter::difference("logits", logits_a->view(), logits_b->view());
    if (d.same_top1 == 0) ++other_top1_;
    return fmt::format("{}  {}  {}  max |Δ logits| {:.2g}\n", name, top1_text(*logits_a, a_.info()),
                       top1_text(*logits_b, b_.info()), d.largest);
  }

  bool equal() const {
    return !stages_.empty() && !first_beyond() && (tolerance_ > 0.01 || other_top1_ == 0);
  }

  std::string summary() const {
    std::string text = "\nstage: max |Δ| over all pictures, share of the stage's largest value\n";
    for (const auto& [stage, d] : stages_)
      text += fmt::format("  {:<20} {:.2g}  {:.2g}\n", stage, d.largest, share(d));
    text += fmt::format("pictures with another top-1: {} of {}\n", other_top1_, pictures_);
    if (stages_.empty()) return text + "the two have no stage in common that could be compared\n";
    const std::string* first = first_beyond();
    text += fmt::format("first stage that differs by more than {:.2g} of its largest value: {}\n", tolerance_,
                        first != nullptr ? *first : "none");
    return text;
  }

 private:
  static double share(const exporter::OutputDifference& d) {
    return d.magnitude > 0 ? d.largest / d.magnitude : d.largest;
  }

  void add(const std::string& stage, const exporter::OutputDifference& d) {
    const auto known =
        std::find_if(stages_.begin(), stages_.end(), [&](const auto& s) { return s.first == stage; });
    if (known == stages_.end()) {
      stages_.emplace_back(stage, d);
    } else if (!(share(d) <= share(known->second))) {  // NaN is the worst
      known->second = d;
    }
  }

  const std::string* first_beyond() const {
    for (const auto& [stage, d] : stages_) {
      if (!(share(d) <= tolerance_)) return &stage;
    }
    return nullptr;
  }

  Subject& a_;
  Subject& b_;
  double tolerance_;
  std::vector<std::pair<std::string, exporter::OutputDifference>> stages_;
  std::int64_t pictures_ = 0;
  std::int64_t other_top1_ = 0;
};

/// Pictures of noise, where the user names none; of bytes, if one of the two takes bytes.
std::vector<std::pair<std::string, Tensor>> noise(const ModelConfig& config, std::optional<Size2> size,
                                                  std::optional<exporter::ByteInput> bytes) {
  constexpr std::int64_t kPictures = 3;
  exporter::GraphOptions options;
  options.byte_input = std::move(bytes);
  options.image_size = size.value_or(config.image_size);
  const exporter::TestPictures pictures = exporter::test_pictures(config, options, kPictures);
  const Shape& shape = pictures.pixel_values.shape();
  std::vector<std::pair<std::string, Tensor>> result;
  for (std::int64_t b = 0; b < kPictures; ++b) {
    Tensor picture({shape[1], shape[2], shape[3]});
    std::copy_n(pictures.pixel_values.data() + b * picture.size(), picture.size(), picture.data());
    result.emplace_back(fmt::format("noise {}", b + 1), std::move(picture));
  }
  return result;
}

}  // namespace

void add_verify(CLI::App& app, int& result) {
  auto options = std::make_shared<VerifyOptions>();
  CLI::App& command = *app.add_subcommand(
      "verify", "compare what two models compute: a model.onnx and its source, or any two");
  command.add_option("MODEL", options->model, "an ONNX file, which is evaluated as it is, or a checkpoint")
      ->required();
  command.add_option("INPUT", options->inputs.names,
                     "pictures or folders to compare on (default: three of noise)");
  command.add_flag("-r,--recursive", options->inputs.recursive, "look into sub-folders too");
  add_model_option(command, options->common);
  command.get_option("--model")->required()->description(
      "the model to compare with: a checkpoint or an ONNX file");
  command
      .add_option("--tolerance", options->tolerance,
                  "largest difference allowed, as a share of a stage's largest value (default: 1e-4; for a "
                  "file of fp16 "
                  "weights 1e-2, of int8 and for what vitrine quantize wrote 0.3)")
      ->check(CLI::PositiveNumber);
  add_thread_option(command, options->common);
  add_verbosity_options(command, options->common);
  set_examples(command,
               {"vitrine quantize -m my-model -o small && vitrine verify small -m my-model photos -r"});
  command.callback([options, &result] { result = run_verify(*options); });
}

int run_verify(const VerifyOptions& options) {
  const int threads = options.common.threads > 0 ? options.common.threads : available_threads();
  Subject a(model_path(options.common, options.model), threads);
  const io::LoadOptions load = load_options(options.common);
  Subject b(model_path(options.common), threads, load);
  const std::optional<io::CheckpointInfo>& info = b.info() ? b.info() : a.info();
  if (!info) {
    throw Error(ErrorCode::model_unsupported,
                fmt::format("neither {} nor {} says how pictures become its input; one of the "
                            "two must be a checkpoint or a file that Vitrine wrote",
                            options.model, options.common.model));
  }
  const std::optional<Size2> fixed = a.fixed_size() ? a.fixed_size() : b.fixed_size();
  const std::optional<Size2> size = fixed ? fixed : load.image_size;
  Comparison comparison(a, b, options.tolerance.value_or(std::max(a.tolerance(), b.tolerance())));
  Output output({});
  bool failed = false;
  if (options.inputs.names.empty()) {
    for (const auto& [name, picture] :
         noise(info->config, size, a.byte_input() ? a.byte_input() : b.byte_input()))
      output.write(comparison.compare(name, picture));
  } else {
    // A file that Vitrine wrote has a recipe for its own size.
    const std::optional<io::CheckpointInfo>& recipe_of = a.fixed_size() && a.info() ? a.info() : info;
    if (!recipe_of->recipe) throw *recipe_of->recipe_error;
    io::InputSource inputs(options.inputs.names, input_options(options.inputs));
    while (std::optional<io::Input> input = inputs.next()) {
      try {
        const std::string name = io::describe(*input);
        output.write(comparison.compare(name, io::load_pixel_values(*std::move(input), *recipe_of->recipe)));
      } catch (const Error& e) {
        if (exit_code(e.code()) != kSomeInputsFailed) throw;
        print_error(e.what());
        failed = true;
      }
    }
  }
  output.write(comparison.summary());
  output.finish();
  if (!comparison.equal()) return kVerificationFailed;
  return failed ? kSomeInputsFailed : kOk;
}

}  // namespace vit::apps
