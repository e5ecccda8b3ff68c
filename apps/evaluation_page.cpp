#include "apps/evaluation_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>

namespace vit::apps {
namespace {

constexpr std::size_t kMostConfused = 15;

constexpr std::string_view kStyle = R"(
:root{color-scheme:light dark;--ink:#1d2330;--soft:#5b6475;--line:#d9dde5;--card:#f4f6f9;--back:#fff;--bad:#b3261e}
@media(prefers-color-scheme:dark){:root{--ink:#e6e9ef;--soft:#a3acbb;--line:#39404d;--card:#1f242d;--back:#14171d;--bad:#ff8a80}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:1080px;padding:16px;background:var(--back);color:var(--ink);font:16px/1.5 system-ui,sans-serif}
h1{font-size:1.6rem;margin:.2em 0}h2{font-size:1.2rem;margin:2em 0 .5em}
p{margin:.4em 0}.soft{color:var(--soft)}code,.path{overflow-wrap:anywhere}td.path{min-width:16em}
.cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(150px,1fr));gap:12px;margin:16px 0}
.card{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:10px 14px}
.card b{display:block;font-size:1.5rem;line-height:1.3}.bad{color:var(--bad)}
.wide{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}
th,td{padding:4px 10px;border-bottom:1px solid var(--line);text-align:left;vertical-align:top}
.n{text-align:right;white-space:nowrap}th{color:var(--soft);font-weight:600}
tfoot td{font-weight:600}
img{max-width:100%;height:auto;background:#fff;border:1px solid var(--line);border-radius:8px}
.wide img{max-width:max(100%,520px)}
summary{cursor:pointer}
)";

std::string escaped(std::string_view text) {
  std::string html;
  for (const char c : text) {
    switch (c) {
      case '&':
        html += "&amp;";
        break;
      case '<':
        html += "&lt;";
        break;
      case '>':
        html += "&gt;";
        break;
      case '"':
        html += "&quot;";
        break;
      default:
        html += c;
    }
  }
  return html;
}

/// RFC 4648.
std::string base64(std::span<const std::byte> bytes) {
  static constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t group = 0;
    for (std::size_t j = 0; j < 3; ++j)
      group = group << 8U | (j < count ? std::to_integer<std::uint32_t>(bytes[i + j]) : 0U);
    for (std::size_t j = 0; j < 4; ++j) text += j <= count ? kDigits[group >> (18 - 6 * j) & 63U] : '=';
  }
  return text;
}

std::string picture(std::span<const std::byte> png, std::string_view description) {
  return fmt::format("<p class=\"wide\"><img alt=\"{}\" src=\"data:image/png;base64,{}\"></p>\n",
                     escaped(description), base64(png));
}

std::string card(std::string_view what, std::string_view value, std::string_view more,
                 std::string_view kind = "") {
  return fmt::format("<div class=\"card\">{}<b class=\"{}\">{}</b><span class=\"soft\">{}</span></div>\n",
                     what, kind, value, more);
}

std::string share_card(const std::string& what, std::int64_t right, std::int64_t count) {
  if (count == 0) return card(what, "–", "of no picture");
  const io::Interval interval = io::wilson_interval(right, count);
  return card(what, percent(static_cast<double>(right) / static_cast<double>(count)),
              fmt::format("95 % interval {:.2f} to {:.2f} %", 100 * interval.low, 100 * interval.high));
}

std::string head(const Evaluation& e) {
  const io::EvaluationResult& r = e.result;
  std::string html = fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n{}\n"
      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n<title>Evaluation of "
      "{}</title>\n"
      "<style>{}</style></head>\n<body>\n<h1>Evaluation</h1>\n"
      "<p>Pictures: <code>{}</code><br>Model: <code>{}</code></p>\n<div class=\"cards\">\n",
      kReportMark, escaped(e.source), kStyle, escaped(e.source), escaped(e.model));
  html += share_card("Top-1", r.right, r.pictures);
  html += share_card(fmt::format("Top-{}", r.k), r.right_in_k, r.pictures);
  html += card("Macro F1", fmt::format("{:.4f}", r.macro.f1), fmt::format("{} classes", r.classes.size()));
  if (has_calibration(e)) html += card("ECE", fmt::format("{:.4f}", r.calibration.ece), "calibration error");
  html += card("Pictures", fmt::format("{}", r.pictures), "that count");
  if (!e.failures.empty())
    html += card("Failed", fmt::format("{}", e.failures.size()), "do not count", "bad");
  return html + "</div>\n";
}

std::string failures(const Evaluation& e) {
  if (e.failures.empty()) return {};
  std::string html = fmt::format(
      "<h2>Pictures that failed: {}</h2>\n<p>They are no part of any number on this page.</p>\n"
      "<div "
      "class=\"wide\"><table><thead><tr><th>picture</th><th>error</th><th>message</th></tr></thead><tbody>\n",
      e.failures.size());
  for (const FailedPicture& f : e.failures) {
    html += fmt::format("<tr><td class=\"path\">{}</td><td>{}</td><td class=\"path\">{}</td></tr>\n",
                        escaped(f.input), to_string(f.error.code()), escaped(f.error.what()));
  }
  return html + "</tbody></table></div>\n";
}

std::string confusion(const Evaluation& e, const ReportCharts& charts) {
  if (charts.confusion.empty()) return {};
  std::string html =
      "<h2>Confusion matrix</h2>\n<p>A row for what the pictures are, a column for what they were "
      "taken for; colour is the share of the row.";
  if (charts.confusion_classes < e.result.classes.size()) {
    html += fmt::format(" The {} classes with most mistakes of {}; confusion.csv beside this page has all.",
                        charts.confusion_classes, e.result.classes.size());
  }
  html += "</p>\n" + picture(charts.confusion, "confusion matrix");
  const std::vector<Confusion> confused = most_confused(e.result, kMostConfused);
  if (confused.empty()) return html + "<p>No class was taken for another.</p>\n";
  html +=
      "<div class=\"wide\"><table><thead><tr><th>really</th><th>taken for</th><th class=\"n\">pictures</th>"
      "</tr></thead><tbody>\n";
  for (const Confusion& c : confused) {
    html += fmt::format("<tr><td>{}</td><td>{}</td><td class=\"n\">{}</td></tr>\n",
                        escaped(e.labels.name(c.truth)), escaped(e.labels.name(c.predicted)), c.count);
  }
  return html + "</tbody></table></div>\n";
}

std::string class_row(std::string_view name, double precision, double recall, double f1,
                      std::int64_t pictures) {
  return fmt::format(
      "<tr><td>{}</td><td class=\"n\">{:.4f}</td><td class=\"n\">{:.4f}</td><td class=\"n\">{:.4f}</td>"
      "<td class=\"n\">{}</td></tr>\n",
      escaped(name), precision, recall, f1, pictures);
}

std::string classes(const Evaluation& e) {
  const io::EvaluationResult& r = e.result;
  std::string html =
      "<h2>Classes</h2>\n<div class=\"wide\"><table><thead><tr><th>class</th>"
      "<th class=\"n\">precision</th><th class=\"n\">recall</th><th class=\"n\">F1</th>"
      "<th class=\"n\">pictures</th></tr></thead><tbody>\n";
  for (const io::ClassMetrics& c : r.classes)
    html += class_row(e.labels.name(c.index), c.precision, c.recall, c.f1, c.support);
  html += "</tbody><tfoot>\n";
  html += class_row("macro average", r.macro.precision, r.macro.recall, r.macro.f1, r.pictures);
  html += class_row("weighted average", r.weighted.precision, r.weighted.recall, r.weighted.f1, r.pictures);
  return html + "</tfoot></table></div>\n";
}

std::string calibration(const Evaluation& e, const ReportCharts& charts) {
  if (!has_calibration(e)) return {};
  const io::Calibration& c = e.result.calibration;
  std::string html =
      "<h2>Calibration</h2>\n<p>Whether a score of 0.8 is right eight times in ten. Blue: the share "
      "that is right; red: how far it is from the mean score.</p>\n<div class=\"cards\">\n";
  html += card("ECE", fmt::format("{:.4f}", c.ece), "mean gap, 15 bins");
  html += card("MCE", fmt::format("{:.4f}", c.mce), "largest gap");
  html += card("NLL", fmt::format("{:.4f}", c.nll), "of the right label");
  html += card("Brier score", fmt::format("{:.4f}", c.brier), "0 to 2");
  return html + "</div>\n" + picture(charts.reliability, "reliability diagram");
}

std::string worst(const Evaluation& e, const std::vector<ShownMistake>& mistakes,
                  const ReportCharts& charts) {
  if (mistakes.empty()) return {};
  std::string html =
      "<h2>Worst mistakes</h2>\n<p>The highest scores of wrong labels: really &gt; taken for.</p>\n";
  html += picture(charts.mistakes, "the worst mistakes");
  html +=
      "<div class=\"wide\"><table><thead><tr><th class=\"n\">score</th><th>really</th><th>taken for</th>"
      "<th>picture</th></tr></thead><tbody>\n";
  for (const ShownMistake& m : mistakes) {
    html +=
        fmt::format("<tr><td class=\"n\">{:.4f}</td><td>{}</td><td>{}</td><td class=\"path\">{}</td></tr>\n",
                    m.mistake.score, escaped(e.labels.name(m.mistake.truth)),
                    escaped(e.labels.name(m.mistake.predicted)), escaped(m.input));
  }
  return html + "</tbody></table></div>\n";
}

std::string mapping(const Evaluation& e) {
  std::string html =
      "<h2>Which class is which label</h2>\n<details><summary>" +
      fmt::format("{} classes", e.mapping.size()) +
      "</summary>\n<div class=\"wide\"><table><thead><tr><th>class</th><th class=\"n\">index</th>"
      "<th>label</th><th>by</th></tr></thead><tbody>\n";
  for (const io::MappedClass& c : e.mapping) {
    html += fmt::format("<tr><td>{}</td><td class=\"n\">{}</td><td>{}</td><td>{}</td></tr>\n",
                        escaped(c.name), c.index, escaped(e.labels.name(c.index)), to_string(c.by));
  }
  return html + "</tbody></table></div></details>\n";
}

}  // namespace

std::string evaluation_page(const Evaluation& evaluation, const std::vector<ShownMistake>& mistakes,
                            const ReportCharts& charts) {
  return head(evaluation) + failures(evaluation) + confusion(evaluation, charts) + classes(evaluation) +
         calibration(evaluation, charts) + worst(evaluation, mistakes, charts) + mapping(evaluation) +
         "</body></html>\n";
}

}  // namespace vit::apps
