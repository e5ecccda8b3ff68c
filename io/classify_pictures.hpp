// Any number of pictures through one Classifier, on all cores.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "io/bulk.hpp"
#include "io/classifier.hpp"
#include "io/input_sequence.hpp"

namespace vit::io {

struct BulkOptions {
  int cores = 0;          ///< that may work at the same time; 0: all that this process may use
  std::size_t batch = 2;  ///< most pictures that go through the network together
  std::int64_t top_k = 5;
  std::int64_t merge = 0;   ///< as in SessionOptions
  Attach attach = nullptr;  ///< as in ClassifierSessionOptions
  /// Asked before each group of pictures, by any thread: whether no more are to be begun.
  std::function<bool()> stop = [] { return false; };
};

/// Gives an Answer for each input to `sink`, in order, in constant memory, as run_bulk does. Throws what
/// `sink` throws, which ends the run; Error(invalid_argument) where the network's tokens cannot be
/// merged as asked; Error(internal).
BulkTimes classify_pictures(const std::shared_ptr<const Classifier>& classifier, InputSequence& inputs,
                            const BulkOptions& options, const std::function<void(Answer)>& sink);

}  // namespace vit::io
