#include "io/pickle.hpp"

#include <gtest/gtest.h>

#include <string>

#include "tests/support/expect_error.hpp"

namespace vit::io {
namespace {

using namespace std::string_literals;

Pickle load(const std::string& bytes) {
  return unpickle(std::as_bytes(std::span(bytes)), 0, "x.pkl");
}

#define EXPECT_REFUSED(bytes, ...) \
  EXPECT_ERROR(load(bytes), ErrorCode::weights_invalid, "x.pkl: ", __VA_ARGS__)

/// As Python's repr would have it; does not follow cycles.
std::string show(const Pickle& pickle, PickleId id) {
  const PickleValue& value = pickle[id];
  std::string items;
  for (const PickleId item : value.items) items += (items.empty() ? "" : " ") + show(pickle, item);
  switch (value.kind) {
    case PickleKind::none:
      return "None";
    case PickleKind::boolean:
      return value.integer != 0 ? "True" : "False";
    case PickleKind::integer:
      return std::to_string(value.integer);
    case PickleKind::big_integer:
      return "big:" + std::to_string(value.text.size());
    case PickleKind::real:
      return std::to_string(value.real);
    case PickleKind::text:
      return "'" + std::string(value.text) + "'";
    case PickleKind::bytes:
      return "b'" + std::string(value.text) + "'";
    case PickleKind::tuple:
      return "(" + items + ")";
    case PickleKind::list:
      return "[" + items + "]";
    case PickleKind::set:
      return "set{" + items + "}";
    case PickleKind::dict:
      return "{" + items + "}";
    case PickleKind::global:
      return std::string(value.text);
    case PickleKind::call:
      return show(pickle, value.callable) + show(pickle, value.arguments) + "{" + items + "}" +
             (value.state != 0 ? "|" + show(pickle, value.state) : "");
    case PickleKind::persistent:
      return "<" + items + ">";
  }
  return "?";
}

std::string show(const std::string& bytes) {
  const Pickle pickle = load(bytes);
  return show(pickle, pickle.root);
}

TEST(Pickle, ReadsConstants) {
  EXPECT_EQ(show("N."), "None");
  EXPECT_EQ(show("(\x88\x89NI01\nI00\nt."), "(True False None True False)");
  EXPECT_EQ(show("(J\xFF\xFF\xFF\xFFK\xFFM\xFF\xFFI-12\nL34L\nt."), "(-1 255 65535 -12 34)");
  EXPECT_EQ(show("(\x8a\0\x8a\1\xFF\x8a\2\xE8\3\x8a\x08\0\0\0\0\0\0\0\x80\x8b\1\0\0\0\5t."s),
            "(0 -1 1000 -9223372036854775808 5)");
  EXPECT_EQ(show("(\x8a\x09\0\0\0\0\0\0\0\x80\0L99999999999999999999L\nt."s), "(big:9 big:20)");
  EXPECT_EQ(show("(G\xBF\xF8\0\0\0\0\0\0F2.5\nt."s), "(-1.500000 2.500000)");
}

TEST(Pickle, ReadsTexts) {
  EXPECT_EQ(show("(U\2abT\1\0\0\0cX\1\0\0\0d\x8c\1e\x8d\1\0\0\0\0\0\0\0fS'g'\nS\"h\"\nVi\nt."s),
            "('ab' 'c' 'd' 'e' 'f' 'g' 'h' 'i')");
  EXPECT_EQ(show("(C\1aB\1\0\0\0b\x8e\1\0\0\0\0\0\0\0c\x96\1\0\0\0\0\0\0\0dt."s), "(b'a' b'b' b'c' b'd')");
}

TEST(Pickle, ReadsContainers) {
  EXPECT_EQ(show("()]}\x8ft."), "(() [] {} set{})");
  EXPECT_EQ(show("(K\1\x85K\1K\2\x86K\1K\2K\3\x87t."), "((1) (1 2) (1 2 3))");
  EXPECT_EQ(show("(](K\1K\2eK\3a(K\4l\x8f(K\5\x90(K\6\x91t."), "([1 2 3] [4] set{5} set{6})");
  EXPECT_EQ(show("(}U\1aK\1s(U\1bK\2u(U\1cK\3dt."), "({'a' 1 'b' 2} {'c' 3})");
  EXPECT_EQ(show("(K\1K\2"
                 "02(K\3"
                 "1t."),
            "(1 1)");
}

TEST(Pickle, KeepsAndRecallsValues) {
  EXPECT_EQ(show("(U\1aq\1h\1r\0\1\0\0j\0\1\0\0p7\ng7\nt."s), "('a' 'a' 'a' 'a')");
  EXPECT_EQ(show("\x80\x04\x95\x09\0\0\0\0\0\0\0(\x8c\1a\x94h\0t."s), "('a' 'a')");
  const Pickle pickle = load("]q\0(h\0h\0e."s);  // a list in itself, twice
  EXPECT_EQ(pickle[pickle.root].items, (std::vector<PickleId>{pickle.root, pickle.root}));
}

TEST(Pickle, SaysWhatWouldBeCalled) {
  EXPECT_EQ(show("ccollections\nOrderedDict\n)R."), "collections.OrderedDict(){}");
  EXPECT_EQ(show("\x8c\x08"
                 "builtins\x8c\3set\x93]\x85R."),
            "builtins.set([]){}");
  EXPECT_EQ(show("c__builtin__\nset\n."), "builtins.set");
  EXPECT_EQ(show("ctorch.cuda\nFloatStorage\n."), "torch.FloatStorage");
  EXPECT_EQ(show("cargparse\nNamespace\n)\x81}U\1aK\1sb."), "argparse.Namespace(){}|{'a' 1}");
  EXPECT_EQ(show("cargparse\nNamespace\n)}\x92."), "argparse.Namespace(){}");
  EXPECT_EQ(show("(U\7storageK\1tQ."), "<('storage' 1)>");
}

TEST(Pickle, RefusesOtherGlobals) {
  for (const auto& [module, name] : std::initializer_list<std::pair<std::string, std::string>>{
           {"posix", "system"},
           {"os", "system"},
           {"builtins", "eval"},
           {"__builtin__", "getattr"},
           {"torch.nn.modules.linear", "Linear"},
           {"torch.storage", "_load_from_bytes"},
           {"torch", "load"},
           {"torch.FloatStorage", "x"},
           {"collections", "OrderedDict.x"},
           {"collections.OrderedDict", ""},
           {"", ""},
           {std::string(100000, 'a'), std::string(100000, 'b')}}) {
    EXPECT_REFUSED("\x80\2c" + module + "\n" + name + "\n.", (module + "." + name).substr(0, 100),
                   "at byte 2", "torch.save(model.state_dict()");
  }
  EXPECT_REFUSED("\x8c\5posix\x8c\6system\x93.", "posix.system", "at byte 15");
  EXPECT_REFUSED("cposix\x1b[31m\nsystem\xFF\n.", "posix\\x1b[31m.system\\xff");
  EXPECT_REFUSED("N\x8c\1a\x93.", "a global without a name");
}

TEST(Pickle, RefusesOtherOpcodes) {
  for (const std::string opcode : {"i", "o", "P", "\x82", "\x83", "\x84", "\x97", "\x98", "\xFF", "\n", "Z"})
    EXPECT_REFUSED("(" + opcode + "x\nx\n.", "at byte 1");
  EXPECT_REFUSED(std::string("\0", 1), "\\x00");
  EXPECT_REFUSED("\x80\6N.", "protocol 6");
}

TEST(Pickle, RefusesWhatDoesNotFit) {
  for (const char* bad : {".",          "a.",           "](.",
                          "]a.",        "t.",           "e.",
                          "u.",         "K\1)R.",       "cbuiltins\nset\nNR.",
                          "N)b.",       "]K\1K\2s.",    "}(K\1u.",
                          "(K\1d.",     "N(K\1e.",      "NK\1a.",
                          "}(K\1\x90.", "h\1.",         "q\1.",
                          "\x94.",      "gx\n.",        "g-1\n.",
                          "0.",         "1.",           "2.",
                          "(0.",        "\x85.",        "K\1\x86.",
                          "(K\1(\x87.", "Q.",           "K\1(Q.",
                          "Ix\n.",      "I\n.",         "L1x\n.",
                          "Fx\n.",      "Sx'\n.",       "S'\n.",
                          "S'a\\n'\n.", "Va\\u1234\n.", "\x93.",
                          "R.",         "\x81.",        "\x92.",
                          "b."}) {
    EXPECT_REFUSED(bad, "damaged pickle, at byte");
  }
}

TEST(Pickle, RefusesLengthsBeyondTheEnd) {
  for (const std::string& bad :
       {""s, "N"s, "K"s, "M\1"s, "J\1\2\3"s, "U\2a"s, "X\xFF\xFF\xFF\xFF"s, "T\2\0\0\0a"s,
        "\x8d\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF"s, "\x8e\1\0\0\0\0\0\0\0"s, "\x8b\xFF\xFF\xFF\x7F"s, "\x8a\2a"s,
        "G1234567"s, "I12"s, "cposix"s, "cposix\nsystem"s, "\x95\xFF\0\0\0\0\0\0\0N."s, "\x80"s, "(((("s}) {
    EXPECT_REFUSED(bad, "truncated");
  }
}

TEST(Pickle, NestingNeedsNoStack) {
  constexpr std::size_t kDepth = 1'000'000;
  for (const std::string& opcode : {"\x85"s, "\x85\x85"s}) {
    std::string deep = "N";
    for (std::size_t i = 0; i < kDepth; ++i) deep += opcode;
    EXPECT_EQ(load(deep + ".").values.size(), 5 + kDepth * opcode.size() - 1);
  }
  EXPECT_REFUSED(std::string(kDepth, '(') + ".", "empty stack");
  std::string lists;
  for (std::size_t i = 0; i < kDepth; ++i) lists += "]";
  lists += std::string(kDepth - 1, 'a') + ".";
  EXPECT_EQ(load(lists).values.size(), 4 + kDepth);
}

TEST(Pickle, SharedValuesAreShared) {
  std::string laughs = "]U\3lolaq\0"s;  // a list of ten of a list of ten of … : 10^60 times "lol"
  for (char level = 0; level < 60; ++level) {
    laughs += "](";
    for (int i = 0; i < 10; ++i) laughs += "h"s + level;
    laughs += "eq"s + static_cast<char>(level + 1);
  }
  EXPECT_EQ(load(laughs + ".").values.size(), 4U + 1 + 1 + 60);
}

TEST(Pickle, BoundsTheNumberOfValues) {
  EXPECT_REFUSED(std::string(5'000'000, ']') + ".", "more than 4194304 values");
  EXPECT_REFUSED("N" + std::string(5'000'000, '\x94') + ".", "keeps more than");
}

TEST(Pickle, FindsInDicts) {
  const auto find = [](const std::string& bytes) {
    const Pickle pickle = load(bytes);
    const auto found = pickle.find(pickle.root, "a");
    return found ? show(pickle, *found) : "";
  };
  EXPECT_EQ(find("}(U\1bK\1U\1aK\2u."), "2");
  EXPECT_EQ(find("}(U\1aK\1U\1aK\2u."), "2");
  EXPECT_EQ(find("}(C\1aK\1K\1K\2u."), "");
  EXPECT_EQ(find("ccollections\nOrderedDict\n)R(U\1aK\1u."), "1");
  EXPECT_EQ(find("ccollections\nOrderedDict\n]]U\1aaK\1aa\x85R."), "1");  // as Python 2 writes it
  EXPECT_EQ(find("ccollections\nOrderedDict\n]K\1aNa\x85R."), "");
  EXPECT_EQ(find("cargparse\nNamespace\n)\x81}U\1aK\1sb."), "1");
  EXPECT_EQ(find("cargparse\nNamespace\n)\x81."), "");
  EXPECT_EQ(find("cbuiltins\nset\n)R."), "");
  EXPECT_EQ(find("N."), "");
}

TEST(Pickle, EndsWhereItEnds) {
  const std::string two = "K\1.K\2.";
  const auto bytes = std::as_bytes(std::span(two));
  const Pickle first = unpickle(bytes, 0, "x");
  EXPECT_EQ(first.end, 3U);
  const Pickle second = unpickle(bytes, first.end, "x");
  EXPECT_EQ(second.integer(second.root), 2);
  EXPECT_EQ(second.end, two.size());
  EXPECT_FALSE(second.integer(0));
}

}  // namespace
}  // namespace vit::io
