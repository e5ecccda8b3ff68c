#include "apps/cmd_preprocess.hpp"

#include <fmt/format.h>

#include <iostream>
#include <memory>
#include <optional>

#include "apps/load_model.hpp"
#include "apps/output.hpp"
#include "apps/rows.hpp"
#include "io/classifier.hpp"
#include "io/inputs.hpp"
#include "io/pipeline.hpp"
#include "io/safetensors_writer.hpp"

namespace vit::apps {
namespace {

/// What became of one input.
struct Prepared {
  std::string input;
  std::optional<io::FramePosition> frame;
  Tensor pixel_values;  // [3, H, W]
  std::optional<Error> error;
};

Prepared prepare(io::Input input, const io::PreprocessConfig& recipe) {
  Prepared prepared{input.name, input.frame, {}, {}};
  try {
    prepared.pixel_values = io::load_pixel_values(std::move(input), recipe);
  } catch (const Error& e) {
    prepared.error = e;
  }
  return prepared;
}

/// Gathers the pictures into one tensor [N, 3, H, W]; the file is made when the first one shows its size.
class PixelFile {
 public:
  explicit PixelFile(std::string path) : path_(std::move(path)) {}

  /// The picture's place along N. Throws Error(image_unsupported) if its size is not the first one's.
  std::int64_t add(const Prepared& picture) {
    const Shape& shape = picture.pixel_values.shape();
    if (!writer_) {
      shape_ = shape;
      writer_.emplace(path_,
                      std::vector<TensorSpec>{
                          {"pixel_values", {io::SafetensorsWriter::kGrowing, shape[0], shape[1], shape[2]}}});
    } else if (shape != shape_) {
      throw Error(
          ErrorCode::image_unsupported,
          fmt::format(
              "{}: this recipe gives it {}, but the first picture {}: one tensor holds one size, so it "
              "needs a call of its own",
              picture.input, to_string(shape), to_string(shape_)));
    }
    writer_->write("pixel_values", picture.pixel_values.elements());
    return count_++;
  }

  void finish() {
    if (writer_) writer_->finish();
  }

 private:
  std::string path_;
  std::optional<io::SafetensorsWriter> writer_;
  Shape shape_;
  std::int64_t count_ = 0;
};

}  // namespace

void add_preprocess(CLI::App& app, int& result) {
  auto options = std::make_shared<PreprocessOptions>();
  CLI::App& command = *app.add_subcommand("preprocess", "write the exact network input of each picture");
  add_input_arguments(command, options->inputs);
  add_model_option(command, options->common);
  command
      .add_option("-o,--output", options->output,
                  "safetensors file; gets the tensor pixel_values [N, 3, H, W]")
      ->required();
  add_thread_option(command, options->common);
  add_verbosity_options(command, options->common);
  set_examples(command, {"vitrine preprocess photos -r -o pixels.safetensors"});
  command.callback([options, &result] { result = run_preprocess(*options, std::cin); });
}

int run_preprocess(const PreprocessOptions& options, std::istream& list) {
  refuse_overwriting(options.output, options.inputs.names);
  refuse_overwriting(options.output, {options.common.model});
  // An architecture by name has a recipe of its own: no weights are needed.
  const io::PreprocessConfig recipe = load_recipe(
      names_no_weights(options.common) ? "" : model_path(options.common), load_options(options.common));
  if (options.common.verbose) print_error(io::describe(recipe));
  io::InputSource inputs(options.inputs.names, input_options(options.inputs, &list));
  Output rows({});
  PixelFile file(options.output);
  bool failed = false;

  io::Pipeline<io::Input, Prepared> pipeline(
      io::pipeline_source(inputs),
      [&] {
        return [&](std::vector<io::Input> group, int /*cores*/) {
          std::vector<Prepared> prepared;
          for (io::Input& input : group) prepared.push_back(prepare(std::move(input), recipe));
          return prepared;
        };
      },
      [&](Prepared picture) {
        std::int64_t index = 0;
        if (!picture.error) {
          try {
            index = file.add(picture);
          } catch (const Error& e) {
            if (e.code() != ErrorCode::image_unsupported) throw;
            picture.error = e;
          }
        }
        if (picture.error) {
          failed = true;
          print_error(picture.error->what());
          rows.write(json_error_row(picture.input, picture.frame, *picture.error) + '\n');
        } else {
          rows.write(fmt::format("{},\"index\":{}}}\n", json_row_begin(picture.input, picture.frame), index));
        }
      });
  const int cores = options.common.threads > 0 ? options.common.threads : available_threads();
  pipeline.run({.cores = cores, .widest = 1});
  file.finish();
  rows.finish();
  return failed ? kSomeInputsFailed : kOk;
}

}  // namespace vit::apps
