// Python's pickles, protocols 0 to 5, as plain values. Nothing is imported, called or executed. Internal.
//
// A pickle is a program for a stack machine: opcodes of one byte, each with its operands (Lib/pickletools.py
// of CPython describes them all). Its strings name classes and functions, which Python would call. Here a
// name is refused unless it is one that checkpoints of weights hold (pickle_globals.cpp), and a call is a
// value that says what would be called with what; those who ask for it make of it what they know.
//
// Hostile pickles cost no more than honest ones of their length: values lie in one array and refer to each
// other by their number, so that what is shared stays shared, nothing is copied and no nesting needs stack,
// neither here nor when it is destroyed. Values are made by opcodes, at most one each; lengths are compared
// with the bytes that are left before they are used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace vit::io {

/// A value's number in its pickle.
using PickleId = std::uint32_t;

enum class PickleKind : std::uint8_t {
  none,
  boolean,
  integer,
  big_integer,  ///< beyond 64 bits
  real,
  text,
  bytes,
  tuple,
  list,
  set,
  dict,
  global,      ///< a class or function
  call,        ///< a function with its arguments, or a class and what its object was made of
  persistent,  ///< something outside of the pickle: a storage
};

struct PickleValue {
  PickleKind kind = PickleKind::none;
  std::int64_t integer = 0;  ///< boolean: 0 or 1
  double real = 0;
  /// Text and bytes, within the pickle; a big integer, as the pickle has it; a global's "module.name".
  std::string_view text = {};
  /// Of a tuple, list or set. Of a dict or call: key, value, key, value, … set on it. Persistent: its id.
  std::vector<PickleId> items = {};
  PickleId callable = 0;   ///< of a call: a global
  PickleId arguments = 0;  ///< of a call: a tuple
  PickleId state = 0;      ///< of a call: what its object was given to set its attributes; none otherwise
};

class Pickle {
 public:
  std::vector<PickleValue> values;  ///< the first is none
  PickleId root = 0;
  std::size_t end = 0;  ///< the byte behind it

  const PickleValue& operator[](PickleId id) const { return values[id]; }

  std::optional<std::int64_t> integer(PickleId id) const;
  /// Elements of a tuple, a list or a torch.Size; nothing for others.
  std::optional<std::span<const PickleId>> sequence(PickleId id) const;
  /// The arguments of a call of `global`; nothing for others.
  std::optional<std::span<const PickleId>> arguments_of(PickleId id, std::string_view global) const;

  /// A dict, an OrderedDict, a defaultdict or the attributes of an argparse.Namespace.
  bool is_dict(PickleId id) const;
  /// Every pair, in order; a key may come more than once, and then the last one counts. Nothing for what is
  /// no dict.
  void for_each_pair(PickleId dict, const std::function<void(PickleId key, PickleId value)>& visit) const;
  /// The value of a key that is text.
  std::optional<PickleId> find(PickleId dict, std::string_view key) const;
};

/// Reads the pickle that begins at `begin`. Refers to the bytes. `name` appears in messages. Throws
/// Error(weights_invalid) with the position: damaged, truncated, a global or opcode that weights do not need.
Pickle unpickle(std::span<const std::byte> file, std::size_t begin, std::string_view name);

/// The global as PickleValue::text has it, if it is one that may be in a checkpoint of weights. Names of
/// Python 2 and of CUDA storages become their modern and plain ones.
std::optional<std::string_view> allowed_global(std::string_view module, std::string_view name);

}  // namespace vit::io
