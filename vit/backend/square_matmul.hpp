// A large square matmul of each precision: the most that oneDNN gets out of a machine.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "vit/backend/context.hpp"
#include "vit/precision.hpp"

namespace vit::backend {

/// [size, size] times [size, size], the second one packed. bf16 gives bf16; int8 is unsigned times signed,
/// which has the fastest instructions, and gives 32 bits.
class SquareMatmul {
 public:
  /// Throws Error(internal) where oneDNN has no kernel of that precision.
  SquareMatmul(Context& context, Precision precision, std::int64_t size);
  ~SquareMatmul();
  SquareMatmul(SquareMatmul&&) noexcept;

  void run();
  const std::string& kernel() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace vit::backend
