// Everything that does not fit between a weights file and its config, in one message. Internal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace vit::io {

struct LoadReport {
  std::vector<std::string> missing;      ///< names
  std::vector<std::string> misshaped;    ///< "NAME (expected [2, 3], found [3, 2])"
  std::vector<std::string> wrong_dtype;  ///< "NAME (expected F32, F16 or BF16, found I64)"
  std::vector<std::string> scales;       ///< "NAME_scale (missing)"
  std::vector<std::string> unexpected;   ///< names
  std::vector<std::string> unmatched;    ///< names outside the network: no fault alone, a hint beside another

  /// Throws Error(weights_invalid) if there is anything but unmatched. `matched`: tensors that did fit.
  void throw_if_bad(std::string_view weights_name, std::size_t matched) const;
};

}  // namespace vit::io
