// What all oneDNN primitives of one Session share: a stream, a thread count and one scratchpad.
#pragma once

#include <cstddef>
#include <memory>

namespace vit::backend {

/// Cores that this process may use: its CPU affinity, lowered by a cgroup quota. At least 1.
int available_threads();

/// Sets the OpenMP thread count of the calling thread, on which oneDNN runs, and restores it when destroyed:
/// the host's own setting survives. oneDNN reads it when a primitive is built as well as when it runs.
class ThreadScope {
 public:
  explicit ThreadScope(int threads);
  ~ThreadScope();
  /// Those of the innermost scope on the calling thread.
  static int threads();
  ThreadScope(const ThreadScope&) = delete;
  ThreadScope& operator=(const ThreadScope&) = delete;

 private:
  int previous_;
};

/// Belongs to one thread at a time. Primitives built on a Context keep a reference to it.
class Context {
 public:
  Context();
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  struct Impl;
  Impl& impl() { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace vit::backend
