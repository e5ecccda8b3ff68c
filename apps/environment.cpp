#include "apps/environment.hpp"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace vit::apps {
namespace {

/// Whether it was set just now.
bool set_default(const char* name, const char* value) {
  return std::getenv(name) == nullptr && setenv(name, value, 1) == 0;
}

}  // namespace

void complete_environment(char** argv) {
  const bool waiting = std::getenv("OMP_WAIT_POLICY") == nullptr && set_default("GOMP_SPINCOUNT", "5000");
  const bool log_level = set_default("OPENCV_LOG_LEVEL", "OFF");
  set_default("OPENCV_FFMPEG_LOGLEVEL", "-8");  // AV_LOG_QUIET; read when the first video is opened
  if (!waiting && !log_level) return;
  std::error_code failed;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", failed);
  if (!failed) execv(self.c_str(), argv);  // returns only if it fails; then the defaults have to do
}

}  // namespace vit::apps
