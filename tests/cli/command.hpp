// Runs the built `vitrine` as a user does.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "tests/support/temp_folder.hpp"

namespace vit::test {

struct CommandResult {
  int exit_code = -1;  ///< 128 + signal if it was killed, as a shell says it
  std::string out;
  std::string err;
  int most_threads = 0;    ///< that existed at the same time, as seen every 2 ms
  double cpu_seconds = 0;  ///< of all threads
  long peak_kib = 0;       ///< of memory
};

/// `arguments` without the program's name. Killed after a minute, which gives 128 + 9.
CommandResult vitrine(const std::vector<std::string>& arguments, const std::string& standard_input = {});

/// The same, killed after `patience` if it still runs.
CommandResult vitrine_killed_after(std::chrono::microseconds patience,
                                   const std::vector<std::string>& arguments);

/// A signal that waits for the command, however long that takes to start on a busy machine.
struct LateSignal {
  int number = 0;
  std::chrono::microseconds patience{};  ///< since the command catches it, and `file` is there
  std::string file = {};                 ///< empty: none
};

/// The same, but sent a signal, and then waited for. `setup` as below.
CommandResult vitrine_signalled(const LateSignal& signal, const std::string& setup,
                                const std::vector<std::string>& arguments);

/// Through /bin/sh: `setup` first (cd, ulimit, …), then the command in its place.
CommandResult vitrine_behind(const std::string& setup, const std::vector<std::string>& arguments);

}  // namespace vit::test
