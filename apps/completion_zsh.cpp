#include <fmt/format.h>
#include <fmt/ranges.h>

#include "apps/completion.hpp"

namespace vit::apps {
namespace {

/// Inside of single quotes; what is in `special` with a backslash before it.
std::string quoted(const std::string& text, const std::string& special) {
  std::string result;
  for (const char c : text) {
    if (special.find(c) != std::string::npos) result += '\\';
    result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  }
  return result;
}

/// How _arguments completes a value.
std::string action(const OptionShape& option) {
  if (!option.choices.empty() && option.list)
    return fmt::format("_values -s , value {}", fmt::join(option.choices, " "));
  if (!option.choices.empty()) return fmt::format("({})", fmt::join(option.choices, " "));
  return option.value == OptionShape::Value::number ? " " : "_files";
}

/// Each name gets a line: '(-o --output)-o+[what it does]:value:_files'.
std::string specifications(const CommandShape& command) {
  std::string text;
  for (const OptionShape& option : command.options) {
    for (const std::string& name : option.names) {
      text += fmt::format("        '({}){}", fmt::join(option.names, " "), name);
      if (option.value != OptionShape::Value::none) text += name.starts_with("--") ? "=" : "+";
      text += fmt::format("[{}]", quoted(option.description, "[]\\"));
      if (option.value == OptionShape::Value::optional) text += "::value:" + action(option);
      if (option.value == OptionShape::Value::text || option.value == OptionShape::Value::number)
        text += ":value:" + action(option);
      text += "' \\\n";
    }
  }
  return text;
}

}  // namespace

std::string zsh_completion(const CommandShape& program) {
  std::string names;
  std::string cases;
  for (const CommandShape& command : program.commands) {
    names += fmt::format("    '{}:{}'\n", command.name, quoted(command.description, ":\\"));
    const std::string arguments = command.arguments.empty() ? "" : action(command.arguments.front());
    cases += fmt::format("    {})\n      _arguments -s \\\n{}        '*:argument:{}'\n      ;;\n",
                         command.name, specifications(command), arguments);
  }
  return fmt::format(
      "#compdef vitrine\n"
      "# zsh completion of vitrine, printed by: vitrine completion zsh\n"
      "_vitrine() {{\n"
      "  local curcontext=\"$curcontext\" state line\n"
      "  local -a commands=(\n{}  )\n"
      "  _arguments -C \\\n{}        '1:command:->command' '*::argument:->argument'\n"
      "  case $state in\n"
      "    command) _describe command commands; return ;;\n"
      "    argument) ;;\n"
      "    *) return ;;\n"
      "  esac\n"
      "  case $words[1] in\n{}  esac\n"
      "}}\n"
      "if [[ $funcstack[1] == _vitrine ]]; then _vitrine \"$@\"; else compdef _vitrine vitrine; fi\n",
      names, specifications(program), cases);
}

}  // namespace vit::apps
