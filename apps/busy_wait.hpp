// How long threads spin before they sleep.
#pragma once

namespace vit::apps {

/// libgomp lets the threads of a team spin for some 20 ms at every barrier before they sleep. On a machine
/// with anything else to do that costs a hundred times more than it saves: whoever is waited for does not get
/// the core. This restarts the command with a bound of some 250 µs, longer than the threads of one forward
/// pass wait for each other: with less, the smallest networks take a fifth longer to wake them. libgomp reads
/// the variable before main(), so setting it here would be too late. Does nothing where the user has chosen
/// (GOMP_SPINCOUNT, OMP_WAIT_POLICY).
void limit_busy_waiting(char** argv);

}  // namespace vit::apps
