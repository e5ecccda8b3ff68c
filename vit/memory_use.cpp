#include "vit/memory_use.hpp"

#include "vit/backend/precision_support.hpp"
#include "vit/block_types.hpp"
#include "vit/weights.hpp"
#include "vit/workspace.hpp"

namespace vit {
namespace {

/// Bytes of a number in a matrix of the blocks.
std::int64_t matrix_element(Precision precision) {
  return precision == Precision::fp32 ? 4 : precision == Precision::bf16 ? 2 : 1;
}

std::int64_t packed_bytes(const TensorSpec& tensor, Precision precision) {
  const std::int64_t size = element_count(tensor.shape);
  const bool reduced = precision != Precision::fp32;
  if (tensor.name.starts_with("blocks.") && tensor.name.ends_with(".weight") && tensor.shape.size() == 2) {
    const std::int64_t scales = precision == Precision::int8 ? 4 * tensor.shape.front() : 0;
    return size * matrix_element(precision) + scales;
  }
  if (tensor.name == "patch_embed.proj.weight" && reduced)
    return size * (backend::has_precision(Precision::bf16) ? 2 : 4);
  return 4 * size;
}

}  // namespace

MemoryUse memory_use(const ModelConfig& config, Precision precision, Size2 image, std::int64_t batch) {
  MemoryUse use;
  for (const TensorSpec& tensor : tensor_table(config)) use.weights += packed_bytes(tensor, precision);
  const Size2 size = image == Size2{} ? config.image_size : image;
  const Workspace workspace(config, BlockTypes(config, precision),
                            {.batch = batch, .tokens = config.num_tokens(size)});
  use.workspace = static_cast<std::int64_t>(workspace.memory.taken());
  return use;
}

}  // namespace vit
