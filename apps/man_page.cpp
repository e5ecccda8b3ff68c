#include "apps/man_page.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace vit::apps {
namespace {

/// Text without meaning to roff: no requests, no escapes, dashes that can be copied.
std::string plain(const std::string& text) {
  std::string result;
  for (const char c : text) {
    const bool begins = result.empty() || result.back() == '\n';
    if (begins && (c == '.' || c == '\'')) result += "\\&";
    if (c == '\\') {
      result += "\\e";
    } else if (c == '-') {
      result += "\\-";
    } else {
      result += c;
    }
  }
  return result;
}

std::string placeholder(const OptionShape& option) {
  if (option.choices.empty()) return option.value == OptionShape::Value::number ? "N" : "VALUE";
  return fmt::format("{}", fmt::join(option.choices, option.list ? "," : "|"));
}

std::string entry(const OptionShape& option) {
  std::string names;
  for (const std::string& name : option.names)
    names += (names.empty() ? "\\fB" : ", \\fB") + plain(name) + "\\fR";
  if (option.value == OptionShape::Value::optional) names += " [\\fI" + plain(placeholder(option)) + "\\fR]";
  if (option.names.front().starts_with("-") &&
      (option.value == OptionShape::Value::text || option.value == OptionShape::Value::number))
    names += " \\fI" + plain(placeholder(option)) + "\\fR";
  return fmt::format(".TP\n{}\n{}\n", names, plain(option.description));
}

/// The options of one --help, in the order of their headings there.
std::string entries(const CommandShape& command) {
  std::string text;
  for (const OptionShape& argument : command.arguments) text += entry(argument);
  std::vector<std::string> headings;
  for (const OptionShape& option : command.options)
    if (std::find(headings.begin(), headings.end(), option.heading) == headings.end())
      headings.push_back(option.heading);
  for (const std::string& heading : headings)
    for (const OptionShape& option : command.options)
      if (option.heading == heading) text += entry(option);
  return text;
}

/// As it is, its line breaks too.
std::string footer(const CommandShape& command) {
  return command.footer.empty() ? "" : ".PP\n.nf\n" + plain(command.footer) + "\n.fi\n";
}

}  // namespace

std::string man_page(const CommandShape& program, const ManVersion& version) {
  std::string text = fmt::format(
      ".TH VITRINE 1 {} \"vitrine {}\" \"User Commands\"\n"
      ".SH NAME\nvitrine \\- classify pictures with Vision Transformers\n"
      ".SH SYNOPSIS\n.B vitrine\n.I COMMAND\n[\\fIARGUMENT\\fR ...]\n"
      ".SH DESCRIPTION\n{}\n{}.SH OPTIONS\n{}.SH COMMANDS\n",
      version.date, version.number, plain(program.description), footer(program), entries(program));
  for (const CommandShape& command : program.commands) {
    text += fmt::format(".SS \"vitrine {}\"\n{}\n{}{}", command.name, plain(command.description),
                        entries(command), footer(command));
  }
  return text +
         ".SH EXIT STATUS\n"
         "0 all well; 1 some inputs failed; 2 wrong usage; 3 the model cannot be loaded; 4 output cannot be "
         "written; "
         "5 a verification failed; 70 a bug.\n";
}

}  // namespace vit::apps
