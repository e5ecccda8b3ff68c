// The network and this machine's limit, timed in turns, so that a busy moment of the machine meets both.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "vit/measure.hpp"
#include "vit/profile.hpp"
#include "vit/session.hpp"

namespace vit::apps {

/// Seconds of one turn of each.
struct Round {
  double network = 0;  ///< of one forward pass of the batch
  double limit = 0;    ///< of one PeakGemm::run()
};

class BenchRounds {
 public:
  /// `options.profile` is not looked at; profile() is filled.
  BenchRounds(std::shared_ptr<const Model> model, const SessionOptions& options, Precision precision);

  /// One forward pass, then the limit.
  Round run();
  /// For turns with other programs, which leave the caches and the threads cold: an untimed pass and limit
  /// before those that count. The network's time is the median of `passes`.
  Round run_after_others(int passes);

  const Session& session() const { return session_; }
  const PeakGemm& limit() const { return limit_; }
  Profile& profile() { return *profile_; }
  Precision precision() const { return precision_; }

 private:
  double time_network();
  double time_limit();

  std::unique_ptr<Profile> profile_;  // the session keeps its address
  Session session_;
  Tensor pixel_values_;
  Precision precision_;
  PeakGemm limit_;
};

}  // namespace vit::apps
