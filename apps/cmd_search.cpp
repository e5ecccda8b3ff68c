#include "apps/cmd_search.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <utility>

#include "apps/embedding_names.hpp"
#include "apps/load_model.hpp"
#include "apps/neighbour_rows.hpp"
#include "apps/output.hpp"
#include "apps/stop_signal.hpp"
#include "apps/terminal.hpp"
#include "io/embedder.hpp"
#include "io/embedding_array.hpp"
#include "io/inputs.hpp"

namespace vit::apps {
namespace {

/// Of the test picture, between an index and a model that may search it. Precisions and file formats of one
/// model stay above it, other weights, poolings and recipes far below.
constexpr double kSameModel = 0.98;

/// Where vitrine embed has left its pictures.
struct Index {
  explicit Index(const std::string& path) : array(path), names(path, array.rows()) {}

  io::EmbeddingArray array;
  EmbeddingNames names;
};

Index open_index(const std::string& path) {
  if (std::filesystem::path(path).extension() == ".jsonl") {
    throw Error(
        ErrorCode::tensor_invalid,
        fmt::format("{}: rows of JSON are no index; expected the .npy or .safetensors file that vitrine "
                    "embed -o writes",
                    path));
  }
  return Index(path);
}

/// What the command line does not say is as it was when the file was made.
CommonOptions complete(CommonOptions options, const EmbeddingOrigin& origin) {
  if (!options.model.empty()) return options;
  options.model = origin.model;
  const auto take = [](std::string& option, const std::string& recorded) {
    if (option.empty()) option = recorded;
  };
  take(options.architecture, origin.architecture);
  take(options.image_size, origin.image_size);
  take(options.patch_size, origin.patch_size);
  return options;
}

/// `given`: on the command line.
std::shared_ptr<const io::PictureModel> load(const CommonOptions& options, const CommonOptions& given,
                                             const Index& index) {
  try {
    return load_picture_model(options, model_path(options));
  } catch (const Error& e) {
    if (!given.model.empty() || e.code() != ErrorCode::model_not_found) throw;
    throw Error(e.code(), fmt::format("{} names its model, which is not there any more (-m gives another "
                                      "place): {}",
                                      names_path(index.array.path()).string(), e.what()));
  }
}

/// Vectors of two models have nothing to do with each other, even where their widths agree.
void require_same_model(const Index& index, const std::shared_ptr<const io::PictureModel>& model,
                        const CommonOptions& options) {
  const EmbeddingOrigin& origin = index.names.origin();
  const std::vector<float> now = io::embed_test_picture(model, origin.options, options.threads);
  const auto refuse = [&](const std::string& why) {
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("{}: made by another model than {}, or with other options ({}): its model was {}{}",
                    index.array.path().string(), options.model, why, origin.model,
                    origin.image_size.empty() ? "" : ", --image-size " + origin.image_size));
  };
  const auto width = static_cast<std::size_t>(index.array.width());
  if (origin.test_picture.size() != width) {
    throw Error(ErrorCode::tensor_invalid,
                fmt::format("{}: its rows have {} numbers, and {} speaks of {}", index.array.path().string(),
                            width, names_path(index.array.path()).string(), origin.test_picture.size()));
  }
  if (now.size() != width) refuse(fmt::format("{} numbers for a picture, expected {}", now.size(), width));
  const double similarity = io::cosine_similarity(now, origin.test_picture);
  if (!(similarity >= kSameModel)) {
    refuse(fmt::format("cosine similarity {:.3f} for the same picture, expected {} or more", similarity,
                       kSameModel));
  }
}

/// One thread's way from pictures to the rows of their neighbours.
class Searcher {
 public:
  Searcher(const Index& index, std::shared_ptr<const io::PictureModel> model, std::int64_t neighbours,
           io::BusyClock& network)
      : index_(index),
        neighbours_(neighbours),
        session_(std::move(model), index.names.origin().options, &network) {}

  std::vector<NeighbourRow> answer(std::vector<io::Input> inputs, int cores) {
    const std::vector<io::Embedding> embeddings = session_.embed(std::move(inputs), cores);
    std::vector<NeighbourRow> rows;
    std::vector<std::span<const float>> queries;
    for (const io::Embedding& embedding : embeddings) {
      rows.push_back({embedding.input, embedding.frame, {}, embedding.error});
      if (!embedding.error) queries.push_back(embedding.values.elements());
    }
    if (queries.empty()) return rows;
    const auto found = io::find_nearest(index_.array, queries, neighbours_, cores);
    auto next = found.begin();
    for (NeighbourRow& row : rows) {
      if (row.error) continue;
      for (const io::Neighbour& neighbour : *next++)
        row.neighbours.push_back({index_.names.picture(neighbour.row), neighbour.score});
    }
    return rows;
  }

  io::StageTimes take_times() { return session_.take_times(); }

 private:
  const Index& index_;
  std::int64_t neighbours_;
  io::EmbeddingSession session_;
};

}  // namespace

void add_search(CLI::App& app, int& result) {
  auto options = std::make_shared<SearchOptions>();
  CLI::App& command = *app.add_subcommand("search", "find the nearest pictures among those embedded");
  add_input_arguments(command, options->inputs);
  command.add_option("--in", options->in, "x.npy or x.safetensors of vitrine embed")->required();
  command.add_option("-k,--neighbours", options->neighbours, "pictures to find for each")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  add_row_options(command, options->format, options->output);
  add_model_option(command, options->common);
  add_bulk_options(command, options->bulk);
  add_precision_option(command, options->common);
  add_thread_option(command, options->common);
  add_verbosity_options(command, options->common);
  set_examples(command,
               {"vitrine embed photos -r -o photos.npy && vitrine search cat.jpg --in photos.npy -k 3"});
  command.callback([options, &result] {
    result = run_stoppable([&](std::istream& list) { return run_search(*options, list); });
  });
}

int run_search(const SearchOptions& options, std::istream& list) {
  refuse_overwriting(options.output, options.inputs.names);
  refuse_overwriting(options.output, {options.common.model, options.in, names_path(options.in).string()});
  const Index index = open_index(options.in);
  const CommonOptions common = complete(options.common, index.names.origin());
  const std::shared_ptr<const io::PictureModel> model = load(common, options.common, index);
  require_same_model(index, model, common);

  io::InputSource inputs = bulk_inputs(options.inputs, options.bulk, list);
  Output output(options.output);
  const auto format = make_neighbour_format(row_format_of(options.format, options.output),
                                            !names_file(options.output) && wants_colour(stdout));
  RunReport report(wants_progress(options.bulk, common, options.output), inputs);
  const bool answers_a_list = reads_list(options.inputs);
  output.write(format->begin());
  const io::BulkTimes times = io::run_bulk<NeighbourRow>(
      inputs, bulk_limits(options.bulk, common),
      [&](io::BusyClock& network) {
        auto searcher = std::make_shared<Searcher>(index, model, options.neighbours, network);
        return io::BulkWorker<NeighbourRow>{[searcher](std::vector<io::Input> group, int cores) {
                                              return searcher->answer(std::move(group), cores);
                                            },
                                            [searcher] { return searcher->take_times(); }};
      },
      [&](const NeighbourRow& row) {
        report.count(row.error);
        output.write(format->row(row));
        if (answers_a_list) output.flush();
      });
  report.finish();
  output.write(format->end());
  output.finish();
  if (StopSignal::received() != 0) print_error(fmt::format("stopped after {} rows", report.rows()));
  if (common.verbose) print_error(fmt::format("{}; {}", report.summary(), io::describe(times)));
  return report.exit_code();
}

}  // namespace vit::apps
