// The way back: the weights of a network from a model.onnx that Vitrine wrote.
#pragma once

#include <memory>
#include <string>

#include "export/onnx_file.hpp"
#include "vit/config.hpp"
#include "vit/weights.hpp"

namespace vit::exporter {

/// The metadata key that says that a file is ours; its value is the version of what the keys mean.
inline constexpr std::string_view kFormatKey = "vit.format";
inline constexpr std::string_view kFormat = "1";

/// Throws Error(model_unsupported) unless Vitrine wrote the file: says what it is, and what to pass instead.
void require_ours(const OnnxFile& file);

/// The weights of vit_graph(config, …) as it wrote them; views into the mapped file, except where they were
/// rounded to 8 bits. What the graph holds combined stays so: the class token is zero, its row of the
/// position table the sum. A graph lacks the weights that none of its outputs needs: `unneeded`, the weights
/// that it was made from, stand in for those. Throws Error(weights_invalid) naming every weight that is
/// missing or of another shape or type.
Weights read_weights(std::shared_ptr<const OnnxFile> file, const ModelConfig& config,
                     const Weights& unneeded = {});

}  // namespace vit::exporter
