// What a command line may consist of, read from CLI11's App: what shell completion and the man page are made
// of.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace vit::apps {

struct OptionShape {
  enum class Value {
    none,      ///< a flag
    optional,  ///< --external-data, --external-data always
    text,      ///< often a path
    number,
  };

  std::vector<std::string> names;  ///< with dashes, short ones first; of a positional argument the name alone
  std::string heading;             ///< of the section in --help
  std::string description;
  Value value = Value::none;
  std::vector<std::string> choices;  ///< all that are allowed; empty: any
  bool list = false;                 ///< several of the choices, with commas between them
};

struct CommandShape {
  std::string name;
  std::string description;
  std::string footer;
  std::vector<OptionShape> options;
  std::vector<OptionShape> arguments;  ///< positional ones
  std::vector<CommandShape> commands;  ///< subcommands
};

CommandShape shape_of(const CLI::App& app);

}  // namespace vit::apps
