// Names of a family's files <-> the canonical names of vit/weights.hpp, and the check of a file against a
// config. Internal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "io/weight_files.hpp"
#include "vit/config.hpp"
#include "vit/weights.hpp"

namespace vit::io {

/// One way to spell a tensor: the parts that it consists of along its first axis; most have one. A part
/// without a name is zeros: a bias that the file's network does without.
using Spelling = std::vector<std::string_view>;

/// Rows [from, to) of `of` equal shares of a file's tensor.
struct Cut {
  std::int64_t from = 0;
  std::int64_t to = 1;
  std::int64_t of = 1;
};

/// How the numbers of a tensor lie in the file.
enum class Layout {
  as_is,         ///< as in the network, [out, in, …]
  flattened,     ///< the same, or heads and the numbers of each: a bias [h, d] of D numbers
  kernel,        ///< of JAX: [in, out] of a matrix [out, in], each side perhaps in heads and their numbers
  image_kernel,  ///< of JAX: [height, width, in, out] of [out, in, height, width]
};

/// How a family's files call one tensor, or a weight and its bias: `canonical` without ".weight" and ".bias"
/// (with them where the two are called differently; then spellings are whole names), with * for the number of
/// a block. Spellings are templates: {base} is one of NameTable::bases, {block} one
/// of them followed by one of NameTable::blocks and the block's number; to one that ends in _ "weight" and
/// "bias" are added without a dot. List them in the same order (old names first) everywhere: where a tensor
/// is missing, its name is given in the spelling that the file uses elsewhere.
struct NameRule {
  std::string_view canonical;
  std::vector<Spelling> spellings;
  std::size_t dropped_axes = 0;  ///< leading axes of size 1 that the file's tensor does without
  Cut cut = {};                  ///< of a file's tensor that holds more than this one
  Layout layout = Layout::as_is;
};

/// All names of a family. Every combination of base, block and spelling is accepted, tensor by tensor.
struct NameTable {
  std::vector<std::string_view> bases;   ///< "vit.", ""
  std::vector<std::string_view> blocks;  ///< "encoder.layer.", "layers."
  std::string_view block_end = ".";      ///< what stands behind a block's number
  std::vector<NameRule> rules;
  /// Beginnings of names, behind the base, of tensors that the reference does not use either.
  std::vector<std::string_view> ignored;
  std::vector<std::string_view> ignored_endings = {};  ///< the same by how names end
  /// Beginnings of names, behind the base, that belong to the network: an unknown one there is an error,
  /// since the config then describes another network. Everything behind a base that is not "" belongs to it
  /// anyway.
  std::vector<std::string_view> network;
};

/// Which combination of a NameTable's alternatives.
struct NameChoice {
  std::size_t base = 0;
  std::size_t block = 0;
  std::size_t spelling = 0;

  auto operator<=>(const NameChoice&) const = default;
};

/// By NameRule::canonical.
using NameChoices = std::map<std::string, NameChoice, std::less<>>;

/// What became of a file's tensors.
struct NameMapping {
  NameChoices choices;  ///< how most tensors of each rule are called
  std::vector<std::string> ignored;
  std::vector<std::string> unmatched;                    ///< outside the network and unknown
  std::vector<TensorSpec> tensors;                       ///< of the network, as the file has them
  std::vector<std::shared_ptr<const Tensor>> converted;  ///< what the views point to that is not the file's
  std::string stored_dtype;                              ///< "F32", or "BF16, F32" for a mix
  bool quantised = false;                                ///< some are 8-bit integers
};

/// Points the weights at the files' tensors. The config says what must be there. Matrices of the blocks may
/// be 8-bit integers with scales beside them (io/quantisation.hpp), finite and above 0. Throws
/// Error(weights_invalid) that names everything that does not fit, at once: missing, mis-shaped, wrongly
/// typed and unexpected tensors, called as in the file.
NameMapping map_weights(const WeightFiles& files, const NameTable& names, const ModelConfig& config,
                        Weights& weights);

/// The tensors that a file of this network has, in the network's order. Rules without a choice have the first
/// of their spellings.
std::vector<TensorSpec> file_tensors(const NameTable& names, const ModelConfig& config,
                                     const NameChoices& choices = {});

/// Where numbers of a network's tensor lie in a file.
struct FilePiece {
  std::size_t file_tensor = 0;  ///< index into file_tensors(names, config, choices)
  std::int64_t begin = 0;       ///< element of that tensor
  WeightView view;
  bool quantisable = false;  ///< see is_quantisable()
};

/// All numbers of a network; what no piece covers is zero. Throws Error(internal) for layouts other than
/// as_is.
std::vector<FilePiece> file_pieces(const NameTable& names, const ModelConfig& config,
                                   const NameChoices& choices, Weights& weights);

}  // namespace vit::io
