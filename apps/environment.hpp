// Variables that libraries read before main().
#pragma once

namespace vit::apps {

/// Sets what is not set yet, and starts the command again if that comes too late for this process. Does
/// nothing where the user has chosen.
///
/// GOMP_SPINCOUNT (unless there is OMP_WAIT_POLICY): libgomp lets the threads of a team spin for some 20 ms
/// at every barrier before they sleep. On a machine with anything else to do that costs a hundred times more
/// than it saves: whoever is waited for does not get the core. The bound set here is some 250 µs, longer than
/// the threads of one forward pass wait for each other: with less, the smallest networks take a fifth longer
/// to wake them.
///
/// OPENCV_LOG_LEVEL, OPENCV_FFMPEG_LOGLEVEL: both write about damaged videos and absent cameras to standard
/// error, each in a form of its own; Vitrine says it in the input's row.
void complete_environment(char** argv);

}  // namespace vit::apps
