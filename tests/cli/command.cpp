#include "tests/cli/command.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <thread>

extern char** environ;

namespace vit::test {
namespace {

constexpr auto kTimeout = std::chrono::seconds(60);

int count_threads(pid_t process) {
  const std::string text = read_text("/proc/" + std::to_string(process) + "/status");
  const std::size_t at = text.find("\nThreads:");
  return at == std::string::npos ? 0 : std::stoi(text.substr(at + 9));
}

struct Patience {
  std::chrono::microseconds time = kTimeout;
  int signal = SIGKILL;   // what is sent then
  std::string file = {};  // the time begins when it exists (if there is one) and the signal is caught
};

bool catches(pid_t child, int signal) {
  std::ifstream status("/proc/" + std::to_string(child) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("SigCgt:"))
      return (std::stoull(line.substr(7), nullptr, 16) >> (signal - 1) & 1) != 0;
  }
  return false;
}

bool has_begun(pid_t child, const Patience& patience) {
  return patience.signal == SIGKILL || (catches(child, patience.signal) &&
                                        (patience.file.empty() || std::filesystem::exists(patience.file)));
}

void wait_for(pid_t child, Patience patience, CommandResult& result) {
  bool begun = has_begun(child, patience);
  auto deadline = std::chrono::steady_clock::now() + (begun ? patience.time : Patience().time);
  int status = 0;
  rusage usage{};
  while (wait4(child, &status, WNOHANG, &usage) == 0) {
    if (!begun && has_begun(child, patience)) {
      begun = true;
      deadline = std::chrono::steady_clock::now() + patience.time;
    }
    const auto left = deadline - std::chrono::steady_clock::now();
    if (left <= left.zero()) {
      kill(child, patience.signal);
      if (begun && patience.signal != SIGKILL) {
        patience = {};
        deadline = std::chrono::steady_clock::now() + patience.time;
        continue;
      }
      wait4(child, &status, 0, &usage);
      break;
    }
    result.most_threads = std::max(result.most_threads, count_threads(child));
    std::this_thread::sleep_for(
        std::min<std::chrono::steady_clock::duration>(left, std::chrono::milliseconds(2)));
  }
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  result.cpu_seconds = seconds(usage.ru_utime) + seconds(usage.ru_stime);
  result.peak_kib = usage.ru_maxrss;
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

CommandResult run(const char* program, const std::vector<std::string>& arguments,
                  const std::string& standard_input, Patience patience = {}) {
  const TempFolder folder;
  const std::string in = folder.write("in", standard_input);
  const std::string out = folder / "out";
  const std::string err = folder / "err";

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, in.c_str(), O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, out.c_str(), O_WRONLY | O_CREAT, 0600);
  posix_spawn_file_actions_addopen(&actions, 2, err.c_str(), O_WRONLY | O_CREAT, 0600);
  std::vector<char*> argv{const_cast<char*>(program)};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  pid_t child = 0;
  const int failed = posix_spawn(&child, program, &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) throw std::runtime_error(std::string("cannot start ") + program);

  CommandResult result;
  wait_for(child, patience, result);
  result.out = read_text(out);
  result.err = read_text(err);
  return result;
}

std::vector<std::string> behind(const std::string& setup, const std::vector<std::string>& arguments) {
  std::vector<std::string> all{"-c", setup + " && exec \"$@\"", "sh", VITRINE_COMMAND};
  all.insert(all.end(), arguments.begin(), arguments.end());
  return all;
}

}  // namespace

CommandResult vitrine(const std::vector<std::string>& arguments, const std::string& standard_input) {
  return run(VITRINE_COMMAND, arguments, standard_input);
}

CommandResult vitrine_killed_after(std::chrono::microseconds patience,
                                   const std::vector<std::string>& arguments) {
  return run(VITRINE_COMMAND, arguments, {}, {patience});
}

CommandResult vitrine_signalled(const LateSignal& signal, const std::string& setup,
                                const std::vector<std::string>& arguments) {
  return run("/bin/sh", behind(setup, arguments), {}, {signal.patience, signal.number, signal.file});
}

CommandResult vitrine_behind(const std::string& setup, const std::vector<std::string>& arguments) {
  return run("/bin/sh", behind(setup, arguments), {});
}

}  // namespace vit::test
