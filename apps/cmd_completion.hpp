// vitrine completion SHELL, vitrine man
#pragma once

#include <CLI/CLI.hpp>

namespace vit::apps {

/// `app` must live as long as its parsing: both print what its commands and options are then.
void add_completion(CLI::App& app, int& result);
void add_man(CLI::App& app, int& result);

}  // namespace vit::apps
