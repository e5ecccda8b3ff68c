#include "apps/stop_signal.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <system_error>

namespace vit::apps {
namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM};

volatile std::sig_atomic_t received_signal = 0;
int wake_pipe[2] = {-1, -1};  // gets a byte with the signal, so that poll() returns

extern "C" void note_signal(int signal) {
  const int error = errno;
  received_signal = signal;
  [[maybe_unused]] const ssize_t ignored = ::write(wake_pipe[1], "", 1);
  errno = error;
}

bool is_readable(int timeout_ms) {
  pollfd descriptors[] = {{STDIN_FILENO, POLLIN, 0}, {wake_pipe[0], POLLIN, 0}};
  const nfds_t count = wake_pipe[0] >= 0 ? 2 : 1;
  while (received_signal == 0) {
    const int ready = ::poll(descriptors, count, timeout_ms);
    if (ready < 0 && errno == EINTR) continue;
    return ready > 0 && descriptors[0].revents != 0 && received_signal == 0;
  }
  return false;
}

}  // namespace

StopSignal::StopSignal() {
  received_signal = 0;
  if (::pipe2(wake_pipe, O_CLOEXEC | O_NONBLOCK) != 0)
    throw std::system_error(errno, std::generic_category(), "a pipe for signals");
  struct sigaction action {};
  action.sa_handler = note_signal;
  action.sa_flags = SA_RESTART | SA_RESETHAND;  // the second one has its usual effect
  for (const int signal : kSignals) ::sigaction(signal, &action, nullptr);
}

StopSignal::~StopSignal() {
  for (const int signal : kSignals) std::signal(signal, SIG_DFL);
  for (int& end : wake_pipe) {
    ::close(end);
    end = -1;
  }
}

int StopSignal::received() {
  return received_signal;
}

StoppableInput::int_type StoppableInput::underflow() {
  if (!is_readable(-1)) return traits_type::eof();
  ssize_t count = 0;
  do {
    count = ::read(STDIN_FILENO, buffer_, sizeof(buffer_));
  } while (count < 0 && errno == EINTR);
  if (count <= 0) return traits_type::eof();
  setg(buffer_, buffer_, buffer_ + count);
  return traits_type::to_int_type(*gptr());
}

std::streamsize StoppableInput::showmanyc() {
  return is_readable(0) ? 1 : 0;
}

}  // namespace vit::apps
