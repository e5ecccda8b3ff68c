#include "apps/evaluation_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <map>
#include <string_view>
#include <system_error>

#include "apps/evaluation_page.hpp"
#include "apps/output_folder.hpp"
#include "io/ascii.hpp"
#include "io/contact_sheet.hpp"
#include "io/evaluation_charts.hpp"
#include "io/picture_session.hpp"
#include "io/picture_writer.hpp"
#include "vit/file.hpp"

namespace vit::apps {
namespace {

namespace fs = std::filesystem;

constexpr int kTile = 128;                   // pixels of each side of a mistake
constexpr std::size_t kChartedClasses = 30;  // legible in one picture
constexpr std::size_t kCaptionName = 12;     // letters of a label below a mistake

/// Whether an earlier run wrote it.
bool is_report(const fs::path& folder) {
  std::ifstream page(folder / "index.html", std::ios::binary);
  std::string start(1024, '\0');
  page.read(start.data(), static_cast<std::streamsize>(start.size()));
  return std::string_view(start).find(kReportMark) != std::string_view::npos;
}

/// Indices of the classes to show, in their order: all, or those with most mistakes.
std::vector<std::int64_t> charted_classes(const io::EvaluationResult& result) {
  std::map<std::int64_t, std::int64_t> mistakes;
  for (const io::ClassMetrics& c : result.classes) mistakes[c.index] = c.support + c.predicted - 2 * c.right;
  std::vector<std::int64_t> classes;
  for (const io::ClassMetrics& c : result.classes) classes.push_back(c.index);
  if (classes.size() <= kChartedClasses) return classes;
  std::stable_sort(classes.begin(), classes.end(),
                   [&](std::int64_t a, std::int64_t b) { return mistakes[a] > mistakes[b]; });
  classes.resize(kChartedClasses);
  std::sort(classes.begin(), classes.end());
  return classes;
}

std::vector<std::byte> draw_confusion(const Evaluation& e, const std::vector<std::int64_t>& classes) {
  io::ConfusionChart chart;
  chart.title =
      classes.size() == e.result.classes.size()
          ? fmt::format("Confusion matrix, {} pictures", e.result.pictures)
          : fmt::format("The {} classes with most mistakes, of {}", classes.size(), e.result.classes.size());
  for (const std::int64_t truth : classes) {
    chart.names.push_back(e.labels.name(truth));
    std::vector<std::int64_t>& row = chart.counts.emplace_back();
    for (const std::int64_t predicted : classes) row.push_back(e.result.confused(truth, predicted));
  }
  return io::encode_png(io::draw_confusion(chart));
}

std::vector<std::byte> draw_mistakes(const Evaluation& e, const std::vector<ShownMistake>& mistakes) {
  const auto short_label = [&](std::int64_t index) {
    std::string name = io::to_ascii(e.labels.name(index));
    return name.size() <= kCaptionName ? name : name.substr(0, kCaptionName - 2) + "..";
  };
  std::vector<io::SheetTile> tiles;
  for (const ShownMistake& m : mistakes) {
    tiles.push_back({m.picture, fmt::format("{} > {} {:.2f}", short_label(m.mistake.truth),
                                            short_label(m.mistake.predicted), m.mistake.score)});
  }
  return io::encode_png(io::contact_sheet(tiles, "Worst mistakes: really > taken for, score"));
}

}  // namespace

std::vector<ShownMistake> show_mistakes(const std::vector<io::Mistake>& mistakes,
                                        const io::LabelledPictures& pictures,
                                        const io::PreprocessConfig& recipe) {
  std::vector<ShownMistake> shown;
  for (const io::Mistake& mistake : mistakes) {
    io::Input input = pictures.open(mistake.picture);
    std::string name = io::describe(input);
    try {
      shown.push_back(
          {mistake, std::move(name), io::fit_into_square(io::load_picture(std::move(input), recipe), kTile)});
    } catch (const Error&) {
      continue;  // it was there a moment ago: not worth the report
    }
  }
  return shown;
}

void make_report_folder(const std::string& folder, bool force) {
  make_folder(folder);
  std::error_code ignored;
  if (force || fs::is_empty(folder, ignored) || is_report(folder)) return;
  throw Error(
      ErrorCode::invalid_argument,
      fmt::format("--report {}: expected an empty folder or an earlier report, found other files; name "
                  "another folder, or --force",
                  folder));
}

void write_report(const std::string& folder, const Evaluation& e, const std::vector<ShownMistake>& mistakes) {
  ReportCharts charts;
  const std::vector<std::int64_t> classes = charted_classes(e.result);
  charts.confusion_classes = classes.size();
  if (!classes.empty()) charts.confusion = draw_confusion(e, classes);
  if (has_calibration(e)) charts.reliability = io::encode_png(io::draw_reliability(e.result.calibration));
  if (!mistakes.empty()) charts.mistakes = draw_mistakes(e, mistakes);

  const fs::path base(folder);
  const auto write = [&](const char* name, const std::vector<std::byte>& png) {
    std::error_code ignored;
    if (!png.empty()) {
      write_file_atomically(base / name, png);
    } else {
      fs::remove(base / name, ignored);  // an earlier report's
    }
  };
  write_file_atomically(base / "confusion.csv", confusion_csv(e));
  write("confusion.png", charts.confusion);
  write("reliability.png", charts.reliability);
  write("mistakes.png", charts.mistakes);
  write_file_atomically(base / "index.html", evaluation_page(e, mistakes, charts));
}

}  // namespace vit::apps
