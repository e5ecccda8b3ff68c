// The results of an evaluation as one HTML page.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "apps/evaluation_report.hpp"
#include "apps/evaluation_summary.hpp"

namespace vit::apps {

/// PNG files in memory; empty: there is nothing to show.
struct ReportCharts {
  std::vector<std::byte> confusion;
  std::vector<std::byte> reliability;
  std::vector<std::byte> mistakes;
  std::size_t confusion_classes = 0;  ///< that the first one shows
};

/// What an earlier report is told by.
inline constexpr const char* kReportMark = "<meta name=\"generator\" content=\"vitrine evaluate\">";

/// Complete in itself: its pictures are data: URIs, it has no scripts, fonts or links. For narrow and wide
/// windows, light and dark.
std::string evaluation_page(const Evaluation& evaluation, const std::vector<ShownMistake>& mistakes,
                            const ReportCharts& charts);

}  // namespace vit::apps
