#include "apps/cmd_completion.hpp"

#include <memory>

#include "apps/command_shape.hpp"
#include "apps/common.hpp"
#include "apps/completion.hpp"
#include "apps/man_page.hpp"
#include "apps/output.hpp"
#include "git_revision.hpp"  // made by git_revision.cmake

namespace vit::apps {
namespace {

int print(const std::string& text) {
  Output output({});
  output.write(text);
  output.finish();
  return kOk;
}

}  // namespace

void add_completion(CLI::App& app, int& result) {
  const auto shell = std::make_shared<std::string>();
  CLI::App& command =
      *app.add_subcommand("completion", "print a script that completes command lines in a shell");
  command.add_option("SHELL", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  set_examples(command, {"vitrine completion bash > vitrine.bash && . ./vitrine.bash",
                         "vitrine completion fish > vitrine.fish  # in ~/.config/fish/completions",
                         "vitrine completion zsh > _vitrine  # in a folder of $fpath"});
  command.callback([&app, &result, shell] {
    const CommandShape program = shape_of(app);
    result = print(*shell == "bash"  ? bash_completion(program)
                   : *shell == "zsh" ? zsh_completion(program)
                                     : fish_completion(program));
  });
}

void add_man(CLI::App& app, int& result) {
  CLI::App& command = *app.add_subcommand("man", "print the manual page, vitrine(1)");
  set_examples(command, {"vitrine man > vitrine.1  # then: man ./vitrine.1"});
  command.callback([&app, &result] {
    result = print(man_page(shape_of(app), {VITRINE_VERSION, VITRINE_DATE}));
  });
}

}  // namespace vit::apps
