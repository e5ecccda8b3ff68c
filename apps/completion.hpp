// Scripts that complete command lines in a shell.
#pragma once

#include <string>

#include "apps/command_shape.hpp"

namespace vit::apps {

std::string bash_completion(const CommandShape& program);
std::string zsh_completion(const CommandShape& program);
std::string fish_completion(const CommandShape& program);

}  // namespace vit::apps
