// Names of folders for the pictures of each class.
#pragma once

#include <string>
#include <vector>

#include "io/labels.hpp"

namespace vit::apps {

/// By class: its label, with what no file name can hold replaced by "_". Where two would be the same
/// (ImageNet has two kinds of cranes) both end in their index, "crane (134)".
std::vector<std::string> label_folders(const io::Labels& labels);

}  // namespace vit::apps
