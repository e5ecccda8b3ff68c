// The vitrine command: one subcommand per file, cmd_*.cpp.
#include <CLI/CLI.hpp>
#include <iostream>

#include "apps/cmd_attention.hpp"
#include "apps/cmd_bench.hpp"
#include "apps/cmd_classify.hpp"
#include "apps/cmd_completion.hpp"
#include "apps/cmd_convert.hpp"
#include "apps/cmd_embed.hpp"
#include "apps/cmd_evaluate.hpp"
#include "apps/cmd_export.hpp"
#include "apps/cmd_info.hpp"
#include "apps/cmd_preprocess.hpp"
#include "apps/cmd_pull.hpp"
#include "apps/cmd_quantize.hpp"
#include "apps/cmd_run.hpp"
#include "apps/cmd_search.hpp"
#include "apps/cmd_verify.hpp"
#include "apps/common.hpp"
#include "apps/environment.hpp"
#include "apps/primitive_cache.hpp"
#include "apps/suggest.hpp"
#include "apps/version.hpp"

int main(int argc, char** argv) {
  using namespace vit::apps;
  complete_environment(argv);
  limit_primitive_cache();
  std::ios::sync_with_stdio(false);  // std::cin then knows how much of a list has come
  CLI::App app("Vitrine classifies pictures with Vision Transformers.", "vitrine");
  app.set_version_flag("--version", version_text);
  app.require_subcommand(1);
  set_examples(app,
               {"vitrine classify cat.jpg  # with the small model of clothes that ships with Vitrine",
                "vitrine classify cat.jpg -m my-model  # with yours: a folder of transformers or timm",
                "vitrine info -m my-model  # what Vitrine makes of it, and why"},
               "vitrine COMMAND --help shows the options of a command, and examples.");
  int result = kOk;
  add_classify(app, result);
  add_embed(app, result);
  add_search(app, result);
  add_evaluate(app, result);
  add_attention(app, result);
  add_preprocess(app, result);
  add_run(app, result);
  add_export(app, result);
  add_convert(app, result);
  add_quantize(app, result);
  add_info(app, result);
  add_verify(app, result);
  add_bench(app, result);
  add_pull(app, result);
  add_completion(app, result);
  add_man(app, result);
  app.failure_message(
      [](const CLI::App* command, const CLI::Error& e) { return usage_failure(*command, e); });
  try {
    app.parse(argc, argv);  // runs the subcommand
  } catch (const CLI::ParseError& e) {
    if (app.exit(e) != 0) return kUsage;
    return std::cout.flush() ? kOk : kOutputNotWritten;  // --help, --version
  } catch (const std::exception& e) {
    return report_failure(e);
  }
  return result;
}
