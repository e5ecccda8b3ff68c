// Names of ImageNet's classes, for heads that have as many outputs and name none. Internal.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace vit::io {

/// By index, of the set with so many classes: 1000, 11221 (21k of MIIL), 11821 (12k), 21841 (22k), 21843 (21k
/// of Google); nothing for other sizes. From data/labels/imagenet.tsv, which is compiled in.
std::optional<std::map<std::int64_t, std::string>> imagenet_names(std::int64_t classes);

}  // namespace vit::io
