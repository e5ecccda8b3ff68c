#include "io/load_report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "vit/error.hpp"

namespace vit::io {
namespace {

void add(std::string& text, std::string_view kind, const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 20;
  if (names.empty()) return;
  text += fmt::format("; {} {}: ", names.size(), kind);
  for (std::size_t i = 0; i < std::min(names.size(), kShown); ++i) text += (i > 0 ? ", " : "") + names[i];
  if (names.size() > kShown) text += fmt::format(", … and {} more", names.size() - kShown);
}

}  // namespace

void LoadReport::throw_if_bad(std::string_view weights_name, std::size_t matched) const {
  std::string text;
  add(text, "missing", missing);
  add(text, "of another shape", misshaped);
  add(text, "of another type", wrong_dtype);
  if (!wrong_dtype.empty()) text += "; in Python, model.float().save_pretrained(FOLDER) writes F32";
  add(text, "scales of 8-bit weights that do not fit them", scales);
  add(text, "that config.json leaves no place for", unexpected);
  if (text.empty()) return;
  add(text, "that belong to no part of the network", unmatched);
  if (matched == 0) text += "; no tensor fits: the config.json may belong to another model";
  throw Error(ErrorCode::weights_invalid,
              fmt::format("{}: the tensors do not fit config.json: {}", weights_name, text.substr(2)));
}

}  // namespace vit::io
