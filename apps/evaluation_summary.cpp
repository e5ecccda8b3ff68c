#include "apps/evaluation_summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "apps/row_formats.hpp"
#include "apps/rows.hpp"
#include "io/ascii.hpp"

namespace vit::apps {
namespace {

constexpr std::size_t kMostConfused = 5;  // in the text
constexpr std::size_t kWidestName = 32;   // bytes of a label in the table

std::string averages_json(const io::AverageMetrics& a) {
  return fmt::format("{{\"precision\":{},\"recall\":{},\"f1\":{}}}", a.precision, a.recall, a.f1);
}

std::string share_json(std::int64_t right, std::int64_t count) {
  const io::Interval interval = io::wilson_interval(right, count);
  const double value = count == 0 ? 0 : static_cast<double>(right) / static_cast<double>(count);
  return fmt::format("{{\"value\":{},\"low\":{},\"high\":{}}}", value, interval.low, interval.high);
}

/// [ITEM,ITEM], a line each.
template <class Items, class ToJson>
std::string list_json(const Items& items, const ToJson& to_json) {
  std::string text = "[";
  for (const auto& item : items) text += (text.size() == 1 ? "\n  " : ",\n  ") + to_json(item);
  return text + "]";
}

std::string calibration_json(const io::Calibration& c) {
  const std::string bins = list_json(c.bins, [](const io::CalibrationBin& bin) {
    return fmt::format("{{\"count\":{},\"confidence\":{},\"accuracy\":{}}}", bin.count, bin.confidence,
                       bin.accuracy);
  });
  return fmt::format("{{\"ece\":{},\"mce\":{},\"nll\":{},\"brier\":{},\"bins\":{}}}", c.ece, c.mce, c.nll,
                     c.brier, bins);
}

std::string mapping_json(const Evaluation& e) {
  return list_json(e.mapping, [&](const io::MappedClass& c) {
    return fmt::format("{{\"class\":{},\"index\":{},\"label\":{},\"by\":{}}}", json_string(c.name), c.index,
                       json_string(e.labels.name(c.index)), json_string(to_string(c.by)));
  });
}

std::string classes_json(const Evaluation& e) {
  return list_json(e.result.classes, [&](const io::ClassMetrics& c) {
    return fmt::format(
        "{{\"index\":{},\"label\":{},\"support\":{},\"predicted\":{},\"right\":{},\"precision\":{},"
        "\"recall\":{},\"f1\":{}}}",
        c.index, json_string(e.labels.name(c.index)), c.support, c.predicted, c.right, c.precision, c.recall,
        c.f1);
  });
}

std::string confusion_json(const Evaluation& e) {
  return list_json(e.result.confusion, [](const auto& entry) {
    return fmt::format("{{\"truth\":{},\"predicted\":{},\"count\":{}}}", entry.first.first,
                       entry.first.second, entry.second);
  });
}

/// At most kWidestName bytes, whole UTF-8 characters.
std::string short_name(const std::string& name) {
  return name.size() <= kWidestName ? name : io::utf8_prefix(name, kWidestName - 3) + "...";
}

std::string class_table(const Evaluation& e) {
  std::size_t width = std::string_view("weighted average").size();
  for (const io::ClassMetrics& c : e.result.classes)
    width = std::max(width, short_name(e.labels.name(c.index)).size());
  std::string text = fmt::format("{:{}}  precision  recall      F1  pictures\n", "", width);
  for (const io::ClassMetrics& c : e.result.classes) {
    text += fmt::format("{:{}}     {:.4f}  {:.4f}  {:.4f}  {:8}\n", short_name(e.labels.name(c.index)), width,
                        c.precision, c.recall, c.f1, c.support);
  }
  const auto average = [&](std::string_view name, const io::AverageMetrics& a) {
    text += fmt::format("{:{}}     {:.4f}  {:.4f}  {:.4f}  {:8}\n", name, width, a.precision, a.recall, a.f1,
                        e.result.pictures);
  };
  average("macro average", e.result.macro);
  average("weighted average", e.result.weighted);
  return text;
}

}  // namespace

std::vector<Confusion> most_confused(const io::EvaluationResult& result, std::size_t most) {
  std::vector<Confusion> list;
  for (const auto& [pair, count] : result.confusion)
    if (pair.first != pair.second) list.push_back({pair.first, pair.second, count});
  std::stable_sort(list.begin(), list.end(),
                   [](const Confusion& a, const Confusion& b) { return a.count > b.count; });
  if (list.size() > most) list.resize(most);
  return list;
}

std::string percent(double share) {
  return fmt::format("{:.2f} %", 100 * share);
}

std::string percent_with_interval(std::int64_t right, std::int64_t count) {
  if (count == 0) return "of no picture";
  const io::Interval interval = io::wilson_interval(right, count);
  return fmt::format("{} (95 % interval {:.2f} to {:.2f} %)",
                     percent(static_cast<double>(right) / static_cast<double>(count)), 100 * interval.low,
                     100 * interval.high);
}

std::string evaluation_text(const Evaluation& e) {
  const io::EvaluationResult& r = e.result;
  std::string text = fmt::format("{}: {} pictures of {} classes", e.source, r.pictures, e.mapping.size());
  if (!e.failures.empty()) text += fmt::format(", and {} that failed and do not count", e.failures.size());
  text += fmt::format("\ntop-1  {}\n", percent_with_interval(r.right, r.pictures));
  text += fmt::format("top-{}  {}\n\n", r.k, percent_with_interval(r.right_in_k, r.pictures));
  text += class_table(e);
  if (has_calibration(e)) {
    text += fmt::format("\ncalibration: ECE {:.4f}, MCE {:.4f}, NLL {:.4f}, Brier score {:.4f}\n",
                        r.calibration.ece, r.calibration.mce, r.calibration.nll, r.calibration.brier);
  }
  const std::vector<Confusion> confused = most_confused(r, kMostConfused);
  if (!confused.empty()) text += "\nmost often confused:\n";
  for (const Confusion& c : confused)
    text +=
        fmt::format("{:6}  {} taken for {}\n", c.count, e.labels.name(c.truth), e.labels.name(c.predicted));
  return text;
}

std::string evaluation_json(const Evaluation& e) {
  const io::EvaluationResult& r = e.result;
  const std::string failures = list_json(
      e.failures, [](const FailedPicture& f) { return json_error_row(f.input, std::nullopt, f.error); });
  return fmt::format(
      "{{\"source\":{},\"model\":{},\"pictures\":{},\"failed\":{},\n\"top1\":{},\n\"k\":{},\"topk\":{},\n"
      "\"macro\":{},\n\"weighted\":{},\n\"classes\":{},\n\"calibration\":{},\n\"mapping\":{},\n"
      "\"confusion\":{},\n\"failures\":{}}}\n",
      json_string(e.source), json_string(e.model), r.pictures, e.failures.size(),
      share_json(r.right, r.pictures), r.k, share_json(r.right_in_k, r.pictures), averages_json(r.macro),
      averages_json(r.weighted), classes_json(e),
      has_calibration(e) ? calibration_json(r.calibration) : "null", mapping_json(e), confusion_json(e),
      failures);
}

std::string confusion_csv(const Evaluation& e) {
  std::string text = "truth";
  for (const io::ClassMetrics& c : e.result.classes) text += ',' + csv_field(e.labels.name(c.index));
  text += '\n';
  for (const io::ClassMetrics& truth : e.result.classes) {
    text += csv_field(e.labels.name(truth.index));
    for (const io::ClassMetrics& c : e.result.classes)
      text += fmt::format(",{}", e.result.confused(truth.index, c.index));
    text += '\n';
  }
  return text;
}

}  // namespace vit::apps
