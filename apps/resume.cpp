#include "apps/resume.hpp"

#include <fmt/format.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

namespace vit::apps {
namespace {

using nlohmann::json;

/// Scores differ by less with another number of threads or another batch.
constexpr float kSameScore = 1e-3F;

[[noreturn]] void refuse(const std::filesystem::path& file, const std::string& what) {
  throw Error(ErrorCode::invalid_argument,
              fmt::format("{}: {}; --resume goes on only with the same inputs, model and options",
                          file.string(), what));
}

/// What identifies the input of a row.
std::string identity(const Row& row) {
  return json_row_begin(row.input, row.frame);
}

Row parse_row(const std::string& line, std::int64_t number, const std::filesystem::path& file) {
  try {
    const json object = json::parse(line);
    Row row;
    row.input = object.at("input").get<std::string>();
    if (object.contains("frame"))
      row.frame = {object.at("frame").get<std::int64_t>(), object.at("seconds").get<double>()};
    if (object.contains("error")) {
      // The code in the row is not needed: that there is an error is what a second run must agree with.
      row.error = Error(ErrorCode::internal, object.at("error").at("message").get<std::string>());
      return row;
    }
    for (const json& p : object.at("predictions"))
      row.predictions.push_back(
          {p.at("index").get<std::int64_t>(), p.at("label").get<std::string>(), p.at("score").get<float>()});
    return row;
  } catch (const json::exception&) {
    refuse(file, fmt::format("line {} is no row of vitrine classify", number));
  }
}

void require_input(const Row& row, const std::optional<io::Input>& input, std::int64_t number,
                   const std::filesystem::path& file) {
  if (!input)
    refuse(file,
           fmt::format("line {} is about {}, but there are only {} inputs", number, row.input, number - 1));
  const Row expected{input->name, input->frame, {}, {}};
  // As in the file: bytes of a name that are not UTF-8 are replaced there.
  if (json::parse(identity(expected) + "}") != json::parse(identity(row) + "}"))
    refuse(file, fmt::format("line {} is about {}, but input {} is {}", number, row.input, number,
                             io::describe(*input)));
}

}  // namespace

EarlierRows skip_earlier_rows(const std::filesystem::path& file, io::InputSource& inputs,
                              const std::function<void(const io::Input&)>& skipped) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) throw Error(ErrorCode::output_unwritable, file.string() + ": cannot be read");
  EarlierRows earlier;
  std::string line;
  std::uint64_t last_bytes = 0;
  while (std::getline(stream, line) && !stream.eof()) {  // at the end of the file: a line without its end
    if (earlier.last) {
      const std::optional<io::Input> input = inputs.next();
      require_input(*earlier.last, input, ++earlier.rows, file);
      skipped(*input);
      if (earlier.last->error) ++earlier.failures;
      earlier.bytes += last_bytes;
    }
    earlier.last = parse_row(line, earlier.rows + 1, file);
    last_bytes = line.size() + 1;
  }
  return earlier;
}

void require_same(const Row& earlier, const Row& now, const std::filesystem::path& file) {
  require_input(earlier, io::Input{now.input, {}, now.frame}, 1, file);
  const bool same =
      earlier.error.has_value() == now.error.has_value() &&
      earlier.predictions.size() == now.predictions.size() &&
      std::equal(earlier.predictions.begin(), earlier.predictions.end(), now.predictions.begin(),
                 [](const LabelledPrediction& a, const LabelledPrediction& b) {
                   // Labels of equal scores may change places.
                   return std::abs(a.score - b.score) <= kSameScore &&
                          (a.index != b.index || a.label == b.label);
                 });
  if (!same) refuse(file, fmt::format("its last row, of {}, would now be another", earlier.input));
}

}  // namespace vit::apps
