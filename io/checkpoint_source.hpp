// What a checkpoint was read from, for writing one like it. Internal.
#pragma once

#include <memory>
#include <optional>

#include "io/family.hpp"
#include "io/json.hpp"
#include "io/name_map.hpp"
#include "io/weight_files.hpp"

namespace vit::io {

struct CheckpointSource {
  Json config;  ///< config.json, or that of a named architecture; empty where the tensors alone said it
  const Family* family = nullptr;
  std::optional<Size2> image_size;  ///< of LoadOptions
  Size2 patch_size;                 ///< as config says, whatever LoadOptions made of it
  NameTable names;
  NameChoices choices;
  std::shared_ptr<const WeightFiles> files;
};

}  // namespace vit::io
