// What the user may have meant by a command or an option that does not exist.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vit::apps {

/// The candidate that is reached with the fewest changes of single letters (one more, one less, another one,
/// two exchanged), if these are at most a third of the word's; nothing if none is that near.
std::optional<std::string> closest(std::string_view word, const std::vector<std::string>& candidates);

/// The line for a command line that cannot be parsed: what is wrong, what may have been meant, where help is.
std::string usage_failure(const CLI::App& app, const CLI::Error& error);

}  // namespace vit::apps
