// Ctrl-C and SIGTERM as a wish to stop, which the work in hand outlives.
#pragma once

#include <streambuf>

namespace vit::apps {

/// While one exists, the first SIGINT or SIGTERM is only noted; a second one ends the program at once. At
/// most one at a time.
class StopSignal {
 public:
  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  /// The signal that came, or 0. From any thread.
  static int received();
};

/// Standard input, which ends when a StopSignal has received a signal: nobody waits for a line any more.
/// in_avail() says whether there is something to read at once.
class StoppableInput : public std::streambuf {
 protected:
  int_type underflow() override;
  std::streamsize showmanyc() override;

 private:
  char buffer_[1 << 16];
};

}  // namespace vit::apps
