#include <fmt/format.h>
#include <fmt/ranges.h>

#include "apps/completion.hpp"

namespace vit::apps {
namespace {

std::string quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') result += '\\';
    result += c;
  }
  return result + "'";
}

std::string line_of(const OptionShape& option, const std::string& condition) {
  std::string line = fmt::format("complete -c vitrine -n '{}'", condition);
  for (const std::string& name : option.names)
    line += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  const bool needs_value =
      option.value == OptionShape::Value::text || option.value == OptionShape::Value::number;
  if (!option.choices.empty()) {
    // A list is a word for fish: what stands before its last comma comes first.
    const std::string choices = fmt::format("{}", fmt::join(option.choices, " "));
    line += (needs_value ? " -x -a " : " -a ") +
            quoted(option.list ? "(__fish_append , " + choices + ")" : choices);
  } else if (needs_value) {
    line += option.value == OptionShape::Value::number ? " -x" : " -r -F";
  }
  return line + " -d " + quoted(option.description) + "\n";
}

}  // namespace

std::string fish_completion(const CommandShape& program) {
  std::string text = "# fish completion of vitrine, printed by: vitrine completion fish\n";
  for (const OptionShape& option : program.options) text += line_of(option, "__fish_use_subcommand");
  for (const CommandShape& command : program.commands) {
    text += fmt::format("complete -c vitrine -n __fish_use_subcommand -f -a {} -d {}\n", command.name,
                        quoted(command.description));
    const std::string condition = "__fish_seen_subcommand_from " + command.name;
    for (const OptionShape& option : command.options) text += line_of(option, condition);
    for (const OptionShape& argument : command.arguments)
      if (!argument.choices.empty())
        text += fmt::format("complete -c vitrine -n '{}' -f -a {}\n", condition,
                            quoted(fmt::format("{}", fmt::join(argument.choices, " "))));
  }
  return text;
}

}  // namespace vit::apps
