#include "apps/suggest.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace vit::apps {
namespace {

/// Damerau and Levenshtein's distance (optimal string alignment).
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t other = a[i - 1] == b[j - 1] ? 0 : 1;
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + other});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[a.size()][b.size()];
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates) {
  const std::optional<std::string> near = closest(word, candidates);
  return near ? fmt::format(" (did you mean {}?)", *near) : "";
}

std::vector<std::string> commands_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  return names;
}

std::vector<std::string> options_of(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

/// The first argument that nothing took, without a value that hangs on it.
std::optional<std::string> first_unknown(const CLI::App& app) {
  const std::vector<std::string> rest = app.remaining(true);
  if (rest.empty()) return std::nullopt;
  return rest.front().starts_with("--") ? rest.front().substr(0, rest.front().find('=')) : rest.front();
}

/// CLI::IsMember refuses a value as "--format: jsn not in {text,json}".
std::string choice_meant(const std::string& problem) {
  constexpr std::string_view kNotIn = " not in {";
  const std::size_t end = problem.find(kNotIn);
  const std::size_t begin = problem.find(": ");
  if (end == std::string::npos || begin > end || !problem.ends_with('}')) return "";
  const std::string word = problem.substr(begin + 2, end - begin - 2);
  const std::size_t list = end + kNotIn.size();
  return did_you_mean(word, CLI::detail::split(problem.substr(list, problem.size() - list - 1), ','));
}

}  // namespace

std::optional<std::string> closest(std::string_view word, const std::vector<std::string>& candidates) {
  constexpr std::size_t kLongest = 64;  // no name is longer
  if (word.size() > kLongest) return std::nullopt;
  const std::size_t letters = word.size() - std::min(word.find_first_not_of('-'), word.size());
  std::size_t least = std::max<std::size_t>(1, letters / 3) + 1;
  std::optional<std::string> best;
  for (const std::string& candidate : candidates) {
    const std::size_t changes = distance(word, candidate);
    if (changes >= least) continue;
    least = changes;
    best = candidate;
  }
  return best;
}

std::string usage_failure(const CLI::App& app, const CLI::Error& error) {
  const std::vector<CLI::App*> parsed = app.get_subcommands();
  const std::string command =
      parsed.empty() ? app.get_name() : app.get_name() + " " + parsed.front()->get_name();
  std::string problem = error.what();
  problem += choice_meant(problem);
  if (const std::optional<std::string> unknown = first_unknown(app)) {
    if (unknown->starts_with("-")) {
      problem = fmt::format("there is no option {}{}", *unknown,
                            did_you_mean(*unknown, options_of(parsed.empty() ? app : *parsed.front())));
    } else if (parsed.empty()) {
      problem = fmt::format("there is no command {}{}", *unknown, did_you_mean(*unknown, commands_of(app)));
    }
  }
  if (parsed.empty() && dynamic_cast<const CLI::RequiredError*>(&error) != nullptr &&
      app.remaining(true).empty())
    return "vitrine: a command is needed: vitrine classify PICTURE is a beginning, vitrine --help lists "
           "all\n";
  return fmt::format("vitrine: {}; {} --help lists what there is\n", problem, command);
}

}  // namespace vit::apps
