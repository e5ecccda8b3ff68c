// The vitrine command: one subcommand per file, cmd_*.cpp.
#include <CLI/CLI.hpp>

#include "apps/cmd_bench.hpp"
#include "apps/cmd_classify.hpp"
#include "apps/cmd_info.hpp"
#include "apps/cmd_preprocess.hpp"
#include "apps/cmd_run.hpp"
#include "apps/common.hpp"
#include "apps/version.hpp"

int main(int argc, char** argv) {
  using namespace vit::apps;
  CLI::App app("Vitrine classifies pictures with Vision Transformers.", "vitrine");
  app.set_version_flag("--version", version_text);
  app.require_subcommand(1);
  int result = kOk;
  add_classify(app, result);
  add_preprocess(app, result);
  add_run(app, result);
  add_info(app, result);
  add_bench(app, result);
  try {
    app.parse(argc, argv);  // runs the subcommand
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? kOk : kUsage;
  } catch (const vit::Error& e) {
    print_error(e.what());
    return exit_code(e.code());
  } catch (const std::bad_alloc&) {
    print_error("not enough memory");
    return kBug;
  } catch (const std::exception& e) {
    print_error(std::string("unexpected: ") + e.what());
    return kBug;
  }
  return result;
}
