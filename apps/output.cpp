#include "apps/output.hpp"

#include <cerrno>
#include <cstdio>
#include <system_error>

#include "vit/error.hpp"

namespace vit::apps {
namespace {

[[noreturn]] void throw_stdout_failed() {
  throw Error(ErrorCode::output_unwritable,
              "standard output cannot be written: " + std::generic_category().message(errno));
}

}  // namespace

Output::Output(const std::string& path, std::optional<KeptUnfinished> kept) {
  if (!path.empty() && path != "-") file_ = std::make_unique<AtomicFile>(path, kept);
}

void Output::write(std::string_view text) {
  if (file_) {
    file_->append(std::as_bytes(std::span(text)));
  } else if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) {
    throw_stdout_failed();
  }
}

void Output::flush() {
  if (!file_ && std::fflush(stdout) != 0) throw_stdout_failed();
}

void Output::finish() {
  if (file_) {
    file_->commit();
  } else {
    flush();
  }
}

}  // namespace vit::apps
