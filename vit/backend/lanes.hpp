// Work shared out to the OpenMP threads of the current ThreadScope. Internal to vit/.
#pragma once

#include <omp.h>

#include <cstdint>
#include <exception>

#include "vit/backend/context.hpp"

namespace vit::backend {

/// body(lane, i) for every i below `count`, in contiguous runs for each lane; at most `lanes` threads, and
/// within a body one. The first exception is thrown when all have stopped.
template <class Body>
void for_each_on_lanes(int lanes, std::int64_t count, Body&& body) {
  std::exception_ptr failure;
#pragma omp parallel for schedule(static) num_threads(lanes)
  for (std::int64_t i = 0; i < count; ++i) {
    const ThreadScope one(1);
    try {
      body(omp_get_thread_num(), i);
    } catch (...) {
#pragma omp critical(vitrine_lanes)
      if (!failure) failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace vit::backend
