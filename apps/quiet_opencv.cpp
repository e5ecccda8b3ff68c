#include "apps/quiet_opencv.hpp"

#include <cstdlib>

namespace vit::apps {

void quieten_opencv() {
  setenv("OPENCV_LOG_LEVEL", "OFF", 0);
  setenv("OPENCV_FFMPEG_LOGLEVEL", "-8", 0);  // AV_LOG_QUIET
}

}  // namespace vit::apps
