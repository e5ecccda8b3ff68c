#include "apps/primitive_cache.hpp"

#include <cstdlib>

namespace vit::apps {

void limit_primitive_cache() {
  if (std::getenv("DNNL_PRIMITIVE_CACHE_CAPACITY") != nullptr) return;  // its older name
  setenv("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "64", 0);                   // a few Sessions' worth
}

}  // namespace vit::apps
