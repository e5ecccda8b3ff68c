// What a file is that is not what its name promises. Internal.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace vit::io {

/// Recognises what people find in place of a safetensors file by its first bytes, and says what to do about
/// it.
std::optional<std::string> recognise_foreign_format(std::string_view bytes);

/// The same of a file that is to be weights, and is neither safetensors nor another format that
/// parse_tensor_file reads.
std::optional<std::string> recognise_other_weights(std::string_view bytes);

}  // namespace vit::io
