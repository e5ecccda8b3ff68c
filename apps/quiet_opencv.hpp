// What OpenCV and the FFmpeg behind it print by themselves.
#pragma once

namespace vit::apps {

/// Both write about damaged videos and absent cameras to standard error, each in a form of its own; Vitrine
/// says it in the input's row. OpenCV reads its variable before main(), so this comes before
/// limit_busy_waiting(), which starts the command again. Does nothing where the user has chosen
/// (OPENCV_LOG_LEVEL, OPENCV_FFMPEG_LOGLEVEL).
void quieten_opencv();

}  // namespace vit::apps
