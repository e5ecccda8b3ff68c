// A loop shared out to threads of its own. Internal: for the sources of the libraries.
#pragma once

#include <cstdint>
#include <functional>

namespace vit {

/// Calls body(i) for every i in 0 … count − 1, in about that order, on `threads` threads: the calling one and
/// others that are gone when it returns. oneDNN and OpenMP use one thread each within. Where the system gives
/// no more threads, there are fewer. Throws the first exception of a body, after which no further call
/// begins.
void parallel_for(std::int64_t count, int threads, const std::function<void(std::int64_t)>& body);

}  // namespace vit
