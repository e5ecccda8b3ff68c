#include "apps/command_shape.hpp"

#include <utility>

namespace vit::apps {
namespace {

/// CLI::IsMember says what it allows as "{text,json}", a part of the name of the option's type.
std::vector<std::string> choices_of(const std::string& type) {
  const std::size_t open = type.find('{');
  const std::size_t close = type.find('}', open);
  if (open == std::string::npos || close == std::string::npos) return {};
  return CLI::detail::split(type.substr(open + 1, close - open - 1), ',');
}

OptionShape::Value value_of(const CLI::Option& option) {
  if (option.get_items_expected_max() == 0) return OptionShape::Value::none;
  if (option.get_items_expected_min() == 0) return OptionShape::Value::optional;
  const std::string type = option.get_type_name();
  const bool number = type.starts_with("INT") || type.starts_with("UINT") || type.starts_with("FLOAT");
  return number ? OptionShape::Value::number : OptionShape::Value::text;
}

OptionShape shape_of(const CLI::Option& option) {
  OptionShape shape{.names = {},
                    .heading = option.get_group(),
                    .description = option.get_description(),
                    .value = value_of(option),
                    .choices = choices_of(option.get_type_name()),
                    .list = option.get_delimiter() != '\0'};
  for (const std::string& name : option.get_snames()) shape.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) shape.names.push_back("--" + name);
  if (shape.names.empty()) shape.names.push_back(option.get_name());
  return shape;
}

}  // namespace

CommandShape shape_of(const CLI::App& app) {
  CommandShape shape{.name = app.get_name(),
                     .description = app.get_description(),
                     .footer = app.get_footer(),
                     .options = {},
                     .arguments = {},
                     .commands = {}};
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;  // hidden from --help too
    (option->get_positional() ? shape.arguments : shape.options).push_back(shape_of(*option));
  }
  for (const CLI::App* command : app.get_subcommands({})) shape.commands.push_back(shape_of(*command));
  return shape;
}

}  // namespace vit::apps
