// The manual page, made of what --help is made of.
#pragma once

#include <string>

#include "apps/command_shape.hpp"

namespace vit::apps {

struct ManVersion {
  std::string number;  ///< "0.1.0"
  std::string date;    ///< "2026-12-31"
};

/// vitrine(1) in the macros of man(7).
std::string man_page(const CommandShape& program, const ManVersion& version);

}  // namespace vit::apps
