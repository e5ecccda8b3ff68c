// Is a graph well-formed? Our own pass, and libonnx's checker and shape inference.
#pragma once

#include <string>

#include "export/graph.hpp"

namespace vit::exporter {

/// Names are unique, every value is made before it is used, nothing is unused, outputs exist, metadata keys
/// occur once. Throws Error(verification_failed) naming the first thing that is not so.
void check_structure(const Graph& graph);

/// What libonnx says of the graph without its large weights: its checker, and shape inference in strict mode,
/// which must find type and shape of every value and agree with the declared outputs. Throws
/// Error(verification_failed) with its message. Returns what was done, for people: also that the graph's
/// opset is newer than the library, which then checks nothing.
std::string check_with_libonnx(const Graph& graph);

}  // namespace vit::exporter
