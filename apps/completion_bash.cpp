#include <fmt/format.h>
#include <fmt/ranges.h>

#include "apps/completion.hpp"

namespace vit::apps {
namespace {

// `words`: command name and what follows; the shell cuts --format=json into three words at the "=".
constexpr const char* kBegin = R"(# bash completion of vitrine, printed by: vitrine completion bash
_vitrine() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} command= before= i
  local options= choices= list= value=no
  if [[ $current == = ]]; then
    current=
  elif [[ $previous == = ]]; then
    previous=${COMP_WORDS[COMP_CWORD-2]}
  fi
  for ((i = 1; i < COMP_CWORD; ++i)); do
    [[ ${COMP_WORDS[i]} == -* ]] && continue
    command=${COMP_WORDS[i]}
    break
  done
)";

constexpr const char* kEnd = R"(  COMPREPLY=()
  if [[ $list == yes && $current == *,* ]]; then
    before=${current%,*},
    current=${current##*,}
  fi
  if [[ -n $choices ]]; then
    mapfile -t COMPREPLY < <(compgen -P "$before" -W "$choices" -- "$current")
  elif [[ $value == number ]]; then
    return
  elif [[ $value == no && $current == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$current")
  else
    compopt -o filenames 2> /dev/null
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
  fi
}
complete -F _vitrine vitrine
)";

/// What follows an option, as assignments of the script; nothing for flags.
std::string follows(const OptionShape& option) {
  if (!option.choices.empty()) {
    return fmt::format("value=choice choices='{}'{}", fmt::join(option.choices, " "),
                       option.list ? " list=yes" : "");
  }
  return option.value == OptionShape::Value::number ? "value=number" : "value=text";
}

std::string cases_of(const CommandShape& command) {
  std::vector<std::string> names;
  std::string cases;
  for (const OptionShape& option : command.options) {
    names.insert(names.end(), option.names.begin(), option.names.end());
    if (option.value != OptionShape::Value::none)
      cases += fmt::format("        {}) {} ;;\n", fmt::join(option.names, " | "), follows(option));
  }
  std::string text = fmt::format("      options='{}'\n", fmt::join(names, " "));
  for (const OptionShape& argument : command.arguments)
    if (!argument.choices.empty())
      text += fmt::format("      [[ $current == -* ]] || choices='{}'\n", fmt::join(argument.choices, " "));
  if (!cases.empty()) text += "      case $previous in\n" + cases + "      esac\n";
  return text;
}

}  // namespace

std::string bash_completion(const CommandShape& program) {
  std::string text = kBegin;
  text += "  case $command in\n    '')\n" + cases_of(program);
  std::vector<std::string> names;
  for (const CommandShape& command : program.commands) names.push_back(command.name);
  text += fmt::format("      [[ $value != no || $current == -* ]] || choices='{}'\n      ;;\n",
                      fmt::join(names, " "));
  for (const CommandShape& command : program.commands)
    text += fmt::format("    {})\n{}      ;;\n", command.name, cases_of(command));
  return text + "  esac\n" + kEnd;
}

}  // namespace vit::apps
