#include "apps/cmd_attention.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <new>
#include <optional>

#include "apps/attention_output.hpp"
#include "apps/load_model.hpp"
#include "apps/output.hpp"
#include "apps/output_folder.hpp"
#include "apps/rows.hpp"
#include "io/attention_session.hpp"
#include "io/classifier.hpp"
#include "io/inputs.hpp"
#include "io/npy_writer.hpp"
#include "io/picture_writer.hpp"
#include "io/pipeline.hpp"

namespace vit::apps {
namespace {

namespace fs = std::filesystem;

/// An input, and what its files will be called.
struct Job {
  io::Input input;
  std::string name;
};

/// What became of one input.
struct Answer {
  std::string input;
  std::optional<io::FramePosition> frame;
  Size2 grid;
  std::vector<fs::path> files;
  std::optional<Error> error;
};

/// Gives inputs their names, in order.
class Jobs {
 public:
  explicit Jobs(io::InputSource& inputs) : inputs_(inputs) {}

  std::optional<Job> next() {
    std::optional<io::Input> input = inputs_.next();
    if (!input) return std::nullopt;
    const std::string name = input->error ? "" : names_.name_for(input->name, input->frame);
    return Job{std::move(*input), name};
  }
  std::size_t look_ahead(std::size_t most) { return inputs_.look_ahead(most); }

 private:
  io::InputSource& inputs_;
  OutputNames names_;
};

/// What all workers share.
struct Work {
  std::shared_ptr<const Model> model;
  io::PreprocessConfig recipe;
  std::vector<AttentionFile> files;
  io::OverlayOptions overlay;
  AttentionOutput output;
};

/// One thread's way from a picture to its files.
class Worker {
 public:
  explicit Worker(const Work& work) : work_(work), session_(work.model, work.recipe) {}

  Answer answer(Job job, int cores) {
    Answer answer{job.input.name, job.input.frame, {}, {}, job.input.error};
    if (answer.error) return answer;
    const std::vector<fs::path> paths = work_.output.paths(job.name, work_.files);
    try {
      work_.output.check_free(paths, answer.input);
    } catch (const Error& e) {
      answer.error = e;
      return answer;
    }
    try {
      const io::AttentionView view = look(std::move(job.input), cores);
      answer.grid = view.maps.grid();
      for (std::size_t i = 0; i < paths.size(); ++i) write(work_.files[i], view, paths[i]);
      answer.files = paths;
    } catch (const Error& e) {
      if (e.code() == ErrorCode::internal || e.code() == ErrorCode::output_unwritable) throw;
      answer.error = e;
    } catch (const std::bad_alloc&) {
      answer.error =
          Error(ErrorCode::image_too_large,
                fmt::format("{}: not enough memory to look at a picture of this size", answer.input));
    }
    return answer;
  }

 private:
  /// Messages about what the network does begin with the picture's name, as those about its file do.
  io::AttentionView look(io::Input input, int cores) {
    const std::string name = io::describe(input);
    io::Image picture = io::load_picture(std::move(input), work_.recipe);
    const auto rollout = work_.files.front().rollout ? io::AttentionRecorder::Rollout::yes
                                                     : io::AttentionRecorder::Rollout::no;
    try {
      return session_.look(std::move(picture), rollout, cores);
    } catch (const Error& e) {
      throw Error(e.code(), name + ": " + e.what());
    }
  }

  void write(const AttentionFile& file, const io::AttentionView& view, const fs::path& path) const {
    if (file.kind == AttentionFileKind::array) {
      io::write_npy(path, gather(file, view.maps).view());
    } else {
      write_file_atomically(path, io::encode_png(draw(file, view, work_.overlay)));
    }
  }

  const Work& work_;
  io::AttentionSession session_;
};

std::string json_row(const Answer& answer) {
  if (answer.error) return json_error_row(answer.input, answer.frame, *answer.error);
  std::vector<std::string> files;
  for (const fs::path& file : answer.files) files.push_back(json_string(file.native()));
  return fmt::format("{},\"grid\":[{},{}],\"files\":[{}]}}", json_row_begin(answer.input, answer.frame),
                     answer.grid.height, answer.grid.width, fmt::join(files, ","));
}

/// --format, or what the ending of -o says.
AttentionRequest complete(const AttentionOptions& options) {
  AttentionRequest request = options.request;
  std::vector<std::string> formats = options.formats;
  if (formats.empty()) formats = {fs::path(options.output).extension() == ".npy" ? "npy" : "png"};
  const auto has = [&](const char* format) {
    return std::find(formats.begin(), formats.end(), format) != formats.end();
  };
  request.png = has("png");
  request.npy = has("npy");
  if (request.sheet && !request.png) {
    throw Error(ErrorCode::invalid_argument, "--sheet: a sheet is a picture; --format npy writes none");
  }
  return request;
}

/// All files that the run reads, as far as they have names yet.
std::vector<fs::path> files_to_keep(const AttentionOptions& options, const io::CheckpointInfo& info) {
  std::vector<fs::path> files = files_read(options.common, info);
  files.insert(files.end(), options.inputs.names.begin(), options.inputs.names.end());
  return files;
}

}  // namespace

void add_attention(CLI::App& app, int& result) {
  auto options = std::make_shared<AttentionOptions>();
  CLI::App& command =
      *app.add_subcommand("attention", "draw what the network looks at in each picture, as heat maps");
  add_input_arguments(command, options->inputs);
  add_model_option(command, options->common);
  command
      .add_option(
          "-o,--output", options->output,
          "folder for the files, NAME.block11.mean.png and so on; or, for one picture, a .png or .npy "
          "file")
      ->required();
  AttentionRequest& request = options->request;
  auto* const block = command
                          .add_option("--block", request.block,
                                      "whose attention: a number from 0, last, or all (a file for each; with "
                                      "--sheet one for all)")
                          ->capture_default_str();
  auto* const head = command.add_option(
      "--head", request.head,
      "a number from 0, all (a file for each), or mean (default: mean; all with --sheet of "
      "one block)");
  auto* const sheet =
      command.add_flag("--sheet", request.sheet,
                       "a contact sheet in place of single pictures: the heads of a block, or, "
                       "with --block all, the blocks");
  command
      .add_flag("--rollout", request.rollout,
                "attention rollout: the mean of the heads, multiplied through all blocks (Abnar and Zuidema "
                "2020)")
      ->excludes(block)
      ->excludes(head)
      ->excludes(sheet);
  command
      .add_option(
          "--format", options->formats,
          "comma-separated: png, over the picture; npy, float32 [blocks, heads, rows, columns] without "
          "the axes that are not all (default: png)")
      ->delimiter(',')
      ->check(CLI::IsMember({"png", "npy"}));
  command
      .add_option("--alpha", options->overlay.alpha,
                  "of the colours: 0, only the picture, to 1, only the map")
      ->check(CLI::Range(0.0, 1.0))
      ->check(not_nan)
      ->capture_default_str();
  command
      .add_option_function<double>(
          "--clip", [options](double percent) { options->overlay.clip = percent / 100; },
          "percent of the patches, those with the highest values, that share the brightest colour: outliers "
          "leave no colours to the rest (default: 0)")
      ->check(CLI::Range(0.0, 99.0))
      ->check(not_nan);
  command.add_flag("--force", options->force,
                   "replace files that exist, but never a picture or model in use");
  add_precision_option(command, options->common);
  add_thread_option(command, options->common);
  add_verbosity_options(command, options->common);
  set_examples(command, {"vitrine attention cat.jpg -o maps  # the last block, the mean of its heads",
                         "vitrine attention cat.jpg -o heads --sheet  # all heads of a block side by side",
                         "vitrine attention cat.jpg -o rollout.png --rollout"});
  command.callback([options, &result] { result = run_attention(*options, std::cin); });
}

int run_attention(const AttentionOptions& options, std::istream& list) {
  refuse_overwriting(options.output, options.inputs.names);
  refuse_overwriting(options.output, {options.common.model});
  const AttentionRequest request = complete(options);
  io::Checkpoint checkpoint = load_model(model_path(options.common), load_options(options.common));
  const io::CheckpointInfo& info = checkpoint.info;
  io::require_pictures(info);
  const std::vector<AttentionFile> files = plan_files(request, info.config);
  AttentionOutput output({options.output, options.force}, options.inputs, files);
  output.protect(files_to_keep(options, info));
  report_model(options.common, info);
  const Work work{std::make_shared<Model>(
                      info.config, std::move(checkpoint.weights),
                      ModelOptions{.precision = options.common.precision, .threads = options.common.threads}),
                  *info.recipe, files, options.overlay, std::move(output)};
  report_precision(options.common, *work.model);

  io::InputSource inputs(options.inputs.names, input_options(options.inputs, &list));
  Jobs jobs(inputs);
  Output rows({});
  bool failed = false;
  io::Pipeline<Job, Answer> pipeline(
      io::pipeline_source(jobs),
      [&] {
        auto worker = std::make_shared<Worker>(work);
        return [worker](std::vector<Job> group, int cores) {
          std::vector<Answer> answers;
          for (Job& job : group) answers.push_back(worker->answer(std::move(job), cores));
          return answers;
        };
      },
      [&](const Answer& answer) {
        if (answer.error) {
          failed = true;
          print_error(answer.error->what());
        }
        rows.write(json_row(answer) + '\n');
        rows.flush();
      });
  pipeline.run({.cores = options.common.threads > 0 ? options.common.threads : available_threads()});
  rows.finish();
  return failed ? kSomeInputsFailed : kOk;
}

}  // namespace vit::apps
