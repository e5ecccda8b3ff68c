#include "apps/busy_wait.hpp"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace vit::apps {

void limit_busy_waiting(char** argv) {
  if (std::getenv("GOMP_SPINCOUNT") != nullptr || std::getenv("OMP_WAIT_POLICY") != nullptr) return;
  std::error_code failed;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", failed);
  if (failed || setenv("GOMP_SPINCOUNT", "5000", 1) != 0) return;
  execv(self.c_str(), argv);  // returns only if it fails; then the default has to do
}

}  // namespace vit::apps
