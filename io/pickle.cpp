#include "io/pickle.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <string>
#include <unordered_map>
#include <utility>

#include "io/quote_name.hpp"
#include "vit/error.hpp"
#include "vit/file.hpp"

namespace vit::io {
namespace {

// A checkpoint with its optimiser's state has some 100 values for each tensor.
constexpr std::size_t kMaxValues = std::size_t{1} << 22;
constexpr PickleId kNone = 0;
constexpr PickleId kFalse = 1;
constexpr PickleId kTrue = 2;
constexpr PickleId kEmptyTuple = 3;

/// The stack machine. Opcodes are called as CPython's Lib/pickle.py calls them.
class Machine {
 public:
  Machine(std::span<const std::byte> file, std::size_t begin, std::string_view name)
      : text_(as_text(file)), at_(begin), name_(name) {
    for (const PickleKind kind :
         {PickleKind::none, PickleKind::boolean, PickleKind::boolean, PickleKind::tuple}) {
      pickle_.values.emplace_back().kind = kind;
    }
    pickle_.values[kTrue].integer = 1;
  }

  Pickle run() && {
    for (;;) {
      opcode_at_ = at_;
      const char opcode = take(1).front();
      if (opcode == '.') break;
      if (!constant(opcode) && !text(opcode) && !container(opcode) && !object(opcode) && !memo(opcode))
        fail(fmt::format("opcode {} is none that weights need", quote_name(std::string_view(&opcode, 1))));
    }
    pickle_.root = pop();
    pickle_.end = at_;
    return std::move(pickle_);
  }

 private:
  [[noreturn]] void fail(std::string_view what) const {
    throw Error(ErrorCode::weights_invalid,
                fmt::format("{}: damaged pickle, at byte {}: {}", name_, opcode_at_, what));
  }

  // ---- the bytes

  std::string_view take(std::uint64_t count) {
    if (count > text_.size() - at_)
      fail(fmt::format("truncated: {} bytes should follow, {} do", count, text_.size() - at_));
    const std::string_view taken = text_.substr(at_, static_cast<std::size_t>(count));
    at_ += taken.size();
    return taken;
  }

  /// Little-endian, unsigned.
  std::uint64_t number(std::size_t bytes) {
    std::uint64_t value = 0;
    const std::string_view taken = take(bytes);
    std::memcpy(&value, taken.data(), taken.size());
    return value;
  }

  /// A length of so many bytes, then as many bytes as it says.
  std::string_view counted(std::size_t length_bytes) { return take(number(length_bytes)); }

  std::string_view line() {
    const std::size_t end = text_.find('\n', at_);
    if (end == std::string_view::npos) fail("truncated: the line does not end");
    const std::string_view taken = text_.substr(at_, end - at_);
    at_ = end + 1;
    return taken;
  }

  // ---- the stack

  void push(PickleId id) { stack_.push_back(id); }

  PickleId push(PickleValue value) {
    if (pickle_.values.size() == kMaxValues) fail(fmt::format("more than {} values", kMaxValues));
    pickle_.values.push_back(std::move(value));
    push(static_cast<PickleId>(pickle_.values.size() - 1));
    return stack_.back();
  }

  /// How many values lie above the last mark.
  std::size_t available() const { return stack_.size() - (marks_.empty() ? 0 : marks_.back()); }

  PickleId pop() {
    if (available() == 0) fail("it takes a value from an empty stack");
    const PickleId id = stack_.back();
    stack_.pop_back();
    return id;
  }

  PickleId top() const {
    if (available() == 0) fail("it takes a value from an empty stack");
    return stack_.back();
  }

  /// All above the last mark; the mark goes too.
  std::vector<PickleId> pop_mark() {
    if (marks_.empty()) fail("it goes back to a mark, and there is none");
    const auto begin = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
    std::vector<PickleId> items(begin, stack_.end());
    stack_.erase(begin, stack_.end());
    marks_.pop_back();
    return items;
  }

  // ---- opcodes, in groups; each says whether it knows the opcode

  bool constant(char opcode) {
    switch (opcode) {
      case 'N':  // NONE
        push(kNone);
        return true;
      case '\x88':  // NEWTRUE
        push(kTrue);
        return true;
      case '\x89':  // NEWFALSE
        push(kFalse);
        return true;
      case 'J':  // BININT
        push_integer(static_cast<std::int32_t>(number(4)));
        return true;
      case 'K':  // BININT1
        push_integer(static_cast<std::int64_t>(number(1)));
        return true;
      case 'M':  // BININT2
        push_integer(static_cast<std::int64_t>(number(2)));
        return true;
      case 'I':  // INT; protocol 0 has booleans so
      case 'L':  // LONG
        push_decimal(line());
        return true;
      case '\x8a':  // LONG1
        push_long(counted(1));
        return true;
      case '\x8b':  // LONG4
        push_long(counted(4));
        return true;
      case 'G': {  // BINFLOAT, the only big-endian one
        std::string bytes(take(8));
        std::reverse(bytes.begin(), bytes.end());
        double real = 0;
        std::memcpy(&real, bytes.data(), sizeof real);
        push({.kind = PickleKind::real, .real = real});
        return true;
      }
      case 'F': {  // FLOAT
        const std::string_view digits = line();
        double real = 0;
        const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), real);
        if (error != std::errc() || end != digits.data() + digits.size())
          fail(fmt::format("{} is no number", quote_name(digits)));
        push({.kind = PickleKind::real, .real = real});
        return true;
      }
      default:
        return false;
    }
  }

  void push_integer(std::int64_t value) { push({.kind = PickleKind::integer, .integer = value}); }

  void push_decimal(std::string_view digits) {
    if (digits == "00" || digits == "01") return push(digits == "01" ? kTrue : kFalse);
    if (digits.ends_with('L')) digits.remove_suffix(1);
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (end != digits.data() + digits.size() || error == std::errc::invalid_argument)
      fail(fmt::format("{} is no whole number", quote_name(digits)));
    if (error != std::errc()) {
      push({.kind = PickleKind::big_integer, .text = digits});
    } else {
      push_integer(value);
    }
  }

  /// Two's complement, little-endian, of any length.
  void push_long(std::string_view bytes) {
    if (bytes.size() > sizeof(std::int64_t)) {
      push({.kind = PickleKind::big_integer, .text = bytes});
      return;
    }
    std::int64_t value = !bytes.empty() && (bytes.back() & '\x80') != 0 ? -1 : 0;
    if (!bytes.empty()) std::memcpy(&value, bytes.data(), bytes.size());
    push_integer(value);
  }

  bool text(char opcode) {
    switch (opcode) {
      case 'U':     // SHORT_BINSTRING: text of Python 2
      case '\x8c':  // SHORT_BINUNICODE
        push({.kind = PickleKind::text, .text = counted(1)});
        return true;
      case 'T':  // BINSTRING
      case 'X':  // BINUNICODE
        push({.kind = PickleKind::text, .text = counted(4)});
        return true;
      case '\x8d':  // BINUNICODE8
        push({.kind = PickleKind::text, .text = counted(8)});
        return true;
      case 'C':  // SHORT_BINBYTES
        push({.kind = PickleKind::bytes, .text = counted(1)});
        return true;
      case 'B':  // BINBYTES
        push({.kind = PickleKind::bytes, .text = counted(4)});
        return true;
      case '\x8e':  // BINBYTES8
      case '\x96':  // BYTEARRAY8
        push({.kind = PickleKind::bytes, .text = counted(8)});
        return true;
      case 'S': {  // STRING: quoted, as Python writes it
        const std::string_view all = line();
        if (all.size() < 2 || all.front() != all.back() || (all.front() != '\'' && all.front() != '"'))
          fail("a text without its quotes");
        return plain_text(all.substr(1, all.size() - 2));
      }
      case 'V':  // UNICODE
        return plain_text(line());
      default:
        return false;
    }
  }

  bool plain_text(std::string_view characters) {
    if (characters.find('\\') != std::string_view::npos) fail("a text of protocol 0 with escapes in it");
    push({.kind = PickleKind::text, .text = characters});
    return true;
  }

  bool container(char opcode) {
    switch (opcode) {
      case '(':  // MARK
        marks_.push_back(stack_.size());
        return true;
      case ')':  // EMPTY_TUPLE
        push(kEmptyTuple);
        return true;
      case ']':  // EMPTY_LIST
        push({.kind = PickleKind::list});
        return true;
      case '}':  // EMPTY_DICT
        push({.kind = PickleKind::dict});
        return true;
      case '\x8f':  // EMPTY_SET
        push({.kind = PickleKind::set});
        return true;
      case 't':  // TUPLE
        push({.kind = PickleKind::tuple, .items = pop_mark()});
        return true;
      case '\x85':  // TUPLE1
      case '\x86':  // TUPLE2
      case '\x87':  // TUPLE3
        push_tuple(static_cast<std::size_t>(opcode - '\x85' + 1));
        return true;
      case 'l':  // LIST
        push({.kind = PickleKind::list, .items = pop_mark()});
        return true;
      case '\x91':  // FROZENSET
        push({.kind = PickleKind::set, .items = pop_mark()});
        return true;
      case 'd':  // DICT
        push({.kind = PickleKind::dict, .items = pairs(pop_mark())});
        return true;
      case 'a':  // APPEND
        extend(PickleKind::list, {pop()});
        return true;
      case 'e':  // APPENDS
        extend(PickleKind::list, pop_mark());
        return true;
      case '\x90':  // ADDITEMS
        extend(PickleKind::set, pop_mark());
        return true;
      case 's': {  // SETITEM
        const PickleId value = pop();
        const PickleId key = pop();
        extend(PickleKind::dict, {key, value});
        return true;
      }
      case 'u':  // SETITEMS
        extend(PickleKind::dict, pairs(pop_mark()));
        return true;
      default:
        return false;
    }
  }

  void push_tuple(std::size_t count) {
    if (available() < count) fail("it takes a value from an empty stack");
    std::vector<PickleId> items(stack_.end() - static_cast<std::ptrdiff_t>(count), stack_.end());
    stack_.resize(stack_.size() - count);
    push({.kind = PickleKind::tuple, .items = std::move(items)});
  }

  std::vector<PickleId> pairs(std::vector<PickleId> items) const {
    if (items.size() % 2 != 0) fail("a key without its value");
    return items;
  }

  /// Adds to the container on top of the stack, which must be of this kind, or the call of a class like it.
  void extend(PickleKind kind, const std::vector<PickleId>& items) {
    PickleValue& target = pickle_.values[top()];
    const bool fits = target.kind == kind || (kind == PickleKind::dict && pickle_.is_dict(top()));
    if (!fits) fail("it adds to a value that takes no such items");
    target.items.insert(target.items.end(), items.begin(), items.end());
  }

  bool object(char opcode) {
    switch (opcode) {
      case 'c': {  // GLOBAL
        const std::string_view module = line();
        push_global(module, line());
        return true;
      }
      case '\x93': {  // STACK_GLOBAL
        const PickleValue& name = pickle_[pop()];
        const PickleValue& module = pickle_[pop()];
        if (name.kind != PickleKind::text || module.kind != PickleKind::text) fail("a global without a name");
        push_global(module.text, name.text);
        return true;
      }
      case '\x92':  // NEWOBJ_EX: as NEWOBJ, with a dict of named arguments on top
        pop();
        [[fallthrough]];
      case '\x81':  // NEWOBJ
      case 'R': {   // REDUCE
        const PickleId arguments = pop();
        const PickleId callable = pop();
        if (pickle_[callable].kind != PickleKind::global || pickle_[arguments].kind != PickleKind::tuple)
          fail("a call of something that is no function, or without a tuple of arguments");
        push({.kind = PickleKind::call, .callable = callable, .arguments = arguments});
        return true;
      }
      case 'b': {  // BUILD
        const PickleId state = pop();
        if (pickle_[top()].kind != PickleKind::call) fail("it sets attributes of a value that has none");
        pickle_.values[top()].state = state;
        return true;
      }
      case 'Q':  // BINPERSID
        push({.kind = PickleKind::persistent, .items = {pop()}});
        return true;
      default:
        return false;
    }
  }

  void push_global(std::string_view module, std::string_view name) {
    const auto full = allowed_global(module, name);
    if (!full) {
      const std::string spelled = fmt::format("{}.{}", module, name);
      throw Error(
          ErrorCode::weights_invalid,
          fmt::format("{}: its pickle wants the global {} (at byte {}), which weights do not need, and "
                      "Vitrine runs nothing that a file brings along; if you trust the file, write "
                      "its tensors alone in Python: torch.save(model.state_dict(), FILE), or "
                      "model.save_pretrained(FOLDER, safe_serialization=True)",
                      name_, quote_name(spelled), opcode_at_));
    }
    push({.kind = PickleKind::global, .text = *full});
  }

  bool memo(char opcode) {
    switch (opcode) {
      case '\x80':  // PROTO
        if (const std::uint64_t protocol = number(1); protocol > 5)
          fail(fmt::format("protocol {}, expected at most 5", protocol));
        return true;
      case '\x95':  // FRAME: a hint for readers of streams
        if (const std::uint64_t length = number(8); length > text_.size() - at_)
          fail(fmt::format("truncated: {} bytes should follow, {} do", length, text_.size() - at_));
        return true;
      case 'q':  // BINPUT
        keep(number(1));
        return true;
      case 'r':  // LONG_BINPUT
        keep(number(4));
        return true;
      case 'p':  // PUT
        keep(index(line()));
        return true;
      case '\x94':  // MEMOIZE
        keep(memo_.size());
        return true;
      case 'h':  // BINGET
        recall(number(1));
        return true;
      case 'j':  // LONG_BINGET
        recall(number(4));
        return true;
      case 'g':  // GET
        recall(index(line()));
        return true;
      case '0':  // POP
        if (available() == 0 && !marks_.empty()) {
          marks_.pop_back();
        } else {
          pop();
        }
        return true;
      case '1':  // POP_MARK
        pop_mark();
        return true;
      case '2':  // DUP
        push(top());
        return true;
      default:
        return false;
    }
  }

  std::uint64_t index(std::string_view digits) const {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size())
      fail(fmt::format("{} is no number", quote_name(digits)));
    return value;
  }

  void keep(std::uint64_t index) {
    if (memo_.size() == kMaxValues) fail(fmt::format("it keeps more than {} values", kMaxValues));
    memo_[index] = top();
  }

  void recall(std::uint64_t index) {
    const auto found = memo_.find(index);
    if (found == memo_.end()) fail(fmt::format("it recalls value {}, which was not kept", index));
    push(found->second);
  }

  std::string_view text_;
  std::size_t at_;
  std::size_t opcode_at_ = 0;
  std::string_view name_;
  Pickle pickle_;
  std::vector<PickleId> stack_;
  std::vector<std::size_t> marks_;  // how high the stack was
  std::unordered_map<std::uint64_t, PickleId> memo_;
};

}  // namespace

std::optional<std::int64_t> Pickle::integer(PickleId id) const {
  if (values[id].kind != PickleKind::integer) return std::nullopt;
  return values[id].integer;
}

std::optional<std::span<const PickleId>> Pickle::sequence(PickleId id) const {
  if (const auto arguments = arguments_of(id, "torch.Size")) {
    if (arguments->empty()) return std::span<const PickleId>{};
    id = arguments->front();
  }
  if (values[id].kind != PickleKind::tuple && values[id].kind != PickleKind::list) return std::nullopt;
  return std::span<const PickleId>(values[id].items);
}

std::optional<std::span<const PickleId>> Pickle::arguments_of(PickleId id, std::string_view global) const {
  const PickleValue& value = values[id];
  if (value.kind != PickleKind::call || values[value.callable].text != global) return std::nullopt;
  return std::span<const PickleId>(values[value.arguments].items);
}

bool Pickle::is_dict(PickleId id) const {
  const PickleValue& value = values[id];
  if (value.kind == PickleKind::dict) return true;
  if (value.kind != PickleKind::call) return false;
  const std::string_view made_by = values[value.callable].text;
  return made_by == "collections.OrderedDict" || made_by == "collections.defaultdict" ||
         made_by == "collections.Counter" || made_by == "argparse.Namespace";
}

void Pickle::for_each_pair(PickleId dict,
                           const std::function<void(PickleId key, PickleId value)>& visit) const {
  if (!is_dict(dict)) return;
  const PickleValue& value = values[dict];
  const auto visit_items = [&](const std::vector<PickleId>& items) {
    for (std::size_t i = 0; i + 1 < items.size(); i += 2) visit(items[i], items[i + 1]);
  };
  if (value.kind == PickleKind::call) {
    if (const auto arguments =
            arguments_of(dict, "collections.OrderedDict");  // Python 2: OrderedDict([[k, v], …])
        arguments && !arguments->empty()) {
      for (const PickleId pair : sequence(arguments->front()).value_or(std::span<const PickleId>{})) {
        const auto both = sequence(pair);
        if (both && both->size() == 2) visit((*both)[0], (*both)[1]);
      }
    }
    if (values[value.callable].text == "argparse.Namespace" && values[value.state].kind == PickleKind::dict)
      visit_items(values[value.state].items);
  }
  visit_items(value.items);
}

std::optional<PickleId> Pickle::find(PickleId dict, std::string_view key) const {
  std::optional<PickleId> found;
  for_each_pair(dict, [&](PickleId k, PickleId v) {
    if (values[k].kind == PickleKind::text && values[k].text == key) found = v;
  });
  return found;
}

Pickle unpickle(std::span<const std::byte> file, std::size_t begin, std::string_view name) {
  return Machine(file, begin, name).run();
}

}  // namespace vit::io
