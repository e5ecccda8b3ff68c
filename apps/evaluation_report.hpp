// The folder that vitrine evaluate --report writes: a page with all results, and its charts.
#pragma once

#include <string>
#include <vector>

#include "apps/evaluation_summary.hpp"
#include "io/evaluation_metrics.hpp"
#include "io/image.hpp"
#include "io/labelled_pictures.hpp"
#include "io/preprocess.hpp"

namespace vit::apps {

/// A mistake with what is to be seen of it.
struct ShownMistake {
  io::Mistake mistake;
  std::string input;
  io::Image picture;  ///< a square
};

/// Decodes the pictures again, as the network saw them but for their size. What cannot be decoded any more is
/// left out.
std::vector<ShownMistake> show_mistakes(const std::vector<io::Mistake>& mistakes,
                                        const io::LabelledPictures& pictures,
                                        const io::PreprocessConfig& recipe);

/// Makes the folder if it is not there. Throws Error: invalid_argument if it holds something else than an
/// earlier report, unless `force`; output_unwritable.
void make_report_folder(const std::string& folder, bool force);

/// index.html, which has its pictures within itself, so that it can be sent and moved as one file; and
/// beside it confusion.csv, confusion.png, reliability.png and mistakes.png, where there is something to
/// show. Each appears complete or not at all, index.html last. Throws Error(output_unwritable).
void write_report(const std::string& folder, const Evaluation& evaluation,
                  const std::vector<ShownMistake>& mistakes);

}  // namespace vit::apps
