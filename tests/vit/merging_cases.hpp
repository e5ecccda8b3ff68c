// Networks whose blocks merge tokens.
#pragma once

#include <vector>

#include "tests/vit/network_cases.hpp"

namespace vit::test {

const std::vector<NetworkCase>& merging_cases();
const NetworkCase& merging_case(std::string_view name);

}  // namespace vit::test
