#include "io/label_mapping.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <unordered_map>
#include <utility>

#include "io/ascii.hpp"
#include "io/csv.hpp"
#include "io/quote_name.hpp"
#include "vit/error.hpp"

namespace vit::io {
namespace {

constexpr std::size_t kMostNamed = 20;  // in one message

/// Lower case, without what people write between words.
std::string form_of(std::string_view name) {
  std::string form;
  for (const char c : name)
    if (c != ' ' && c != '_' && c != '-') form += c;
  return to_lower(std::move(form));
}

/// "n02123045" at the start of a label.
std::string_view wordnet_id(std::string_view label) {
  constexpr std::size_t kDigits = 8;
  if (label.size() < kDigits + 1 || label[0] != 'n') return {};
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (!std::all_of(label.begin() + 1, label.begin() + 1 + kDigits, is_digit)) return {};
  if (label.size() > kDigits + 1 && label[kDigits + 1] != ' ' && label[kDigits + 1] != ',') return {};
  return label.substr(0, kDigits + 1);
}

std::optional<std::int64_t> index_in(std::string_view text, std::int64_t size) {
  std::int64_t index = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), index);
  if (error != std::errc() || end != text.data() + text.size() || index < 0 || index >= size) return {};
  return index;
}

/// A model's labels, to be found by what they may be called.
class LabelIndex {
 public:
  explicit LabelIndex(const Labels& labels) : labels_(labels) {
    for (std::int64_t i = 0; i < labels.size(); ++i) {
      if (!labels.has_name(i)) continue;
      const std::string name = labels.name(i);
      add(MatchedBy::name, name, i);
      add(MatchedBy::form, form_of(name), i);
      const std::string_view id = wordnet_id(name);
      add(MatchedBy::wordnet_id, std::string(id), i);
      add_synonyms(std::string_view(name).substr(id.size()), i);
    }
  }

  /// All labels of the first kind of match that has any.
  std::pair<MatchedBy, std::vector<std::int64_t>> by_name(const std::string& name) const {
    for (const MatchedBy by : {MatchedBy::name, MatchedBy::form, MatchedBy::synonym, MatchedBy::wordnet_id}) {
      const bool exact = by == MatchedBy::name || by == MatchedBy::wordnet_id;
      const auto& known = known_[static_cast<std::size_t>(by)];
      const auto found = known.find(exact ? name : form_of(name));
      if (found != known.end()) return {by, found->second};
    }
    return {MatchedBy::name, {}};
  }

  std::optional<std::int64_t> by_index(const std::string& name) const {
    return index_in(name, labels_.size());
  }

  /// "7 (sneaker)"
  std::string describe(std::int64_t index) const {
    return labels_.has_name(index) ? fmt::format("{} ({})", index, labels_.name(index))
                                   : fmt::format("{}", index);
  }

  /// What there is, for messages.
  std::string expectation() const {
    if (labels_.named() == 0) return fmt::format("an index from 0 to {}", labels_.size() - 1);
    std::vector<std::string> some;
    for (std::int64_t i = 0; i < labels_.size() && some.size() < kMostNamed; ++i)
      if (labels_.has_name(i)) some.push_back(labels_.name(i));
    const bool more = labels_.named() > static_cast<std::int64_t>(some.size());
    return fmt::format("a label ({}{}) or an index from 0 to {}", fmt::join(some, "; "), more ? "; …" : "",
                       labels_.size() - 1);
  }

 private:
  void add(MatchedBy by, std::string name, std::int64_t index) {
    if (name.empty()) return;
    std::vector<std::int64_t>& known = known_[static_cast<std::size_t>(by)][std::move(name)];
    if (known.empty() || known.back() != index) known.push_back(index);
  }

  void add_synonyms(std::string_view names, std::int64_t index) {
    for (std::size_t comma = 0; comma != std::string_view::npos; names.remove_prefix(comma + 1)) {
      comma = names.find(',');
      add(MatchedBy::synonym, form_of(names.substr(0, comma)), index);
      if (comma == std::string_view::npos) break;
    }
  }

  const Labels& labels_;
  std::array<std::unordered_map<std::string, std::vector<std::int64_t>>, 4> known_;  // by MatchedBy
};

/// Maps class by class and remembers what was doubtful.
class Mapper {
 public:
  Mapper(const Labels& labels, const LabelMap& map) : index_(labels), map_(map) {}

  MappedClass map(const std::string& name) {
    if (const auto said = map_.find(name); said != map_.end())
      return {name, resolve(name, said->second, true), MatchedBy::map};
    MatchedBy by = MatchedBy::name;
    const std::int64_t index = resolve(name, name, false, &by);
    return {name, index, by};
  }

  /// After all classes.
  void check(std::span<const MappedClass> classes) {
    check_kinds(classes);
    std::map<std::int64_t, std::vector<std::string>> users;
    std::map<std::int64_t, bool> said;
    for (const MappedClass& c : classes) {
      if (c.index < 0) continue;
      users[c.index].push_back(quote_name(c.name));
      said.try_emplace(c.index, true).first->second &= c.by == MatchedBy::map;
    }
    for (const auto& [index, names] : users) {
      if (names.size() > 1 && !said[index])
        doubts_.push_back(fmt::format("{} are all label {}", fmt::join(names, ", "), index_.describe(index)));
    }
  }

  void throw_doubts(std::string_view source) const {
    if (doubts_.empty()) return;
    std::string text =
        fmt::format("{}: the classes cannot be mapped to the model's labels for certain:", source);
    for (std::size_t i = 0; i < std::min(doubts_.size(), kMostNamed); ++i) text += "\n  " + doubts_[i];
    if (doubts_.size() > kMostNamed) text += fmt::format("\n  … and {} more", doubts_.size() - kMostNamed);
    text += fmt::format("\nexpected for each class {}; --label-map FILE (lines CLASS,LABEL) says which",
                        index_.expectation());
    throw Error(ErrorCode::invalid_argument, text);
  }

 private:
  /// The label's index, or -1 and a doubt.
  std::int64_t resolve(const std::string& name, const std::string& label, bool said,
                       MatchedBy* by = nullptr) {
    const auto [match, found] = index_.by_name(label);
    if (found.size() == 1) {
      if (by != nullptr) *by = match;
      return found.front();
    }
    const std::string what =
        said ? fmt::format("{}, by the label map {}", quote_name(name), quote_name(label)) : quote_name(name);
    if (found.size() > 1) {
      std::vector<std::string> names;
      for (std::size_t i = 0; i < std::min<std::size_t>(found.size(), 5); ++i)
        names.push_back(index_.describe(found[i]));
      doubts_.push_back(fmt::format("{}: {} labels match: {}", what, found.size(), fmt::join(names, ", ")));
      return -1;
    }
    if (const auto index = index_.by_index(label)) {
      if (by != nullptr) *by = MatchedBy::index;
      return *index;
    }
    doubts_.push_back(fmt::format("{}: no label matches", what));
    return -1;
  }

  void check_kinds(std::span<const MappedClass> classes) {
    std::vector<std::string> by_index;
    std::vector<std::string> by_name;
    for (const MappedClass& c : classes) {
      if (c.index < 0 || c.by == MatchedBy::map) continue;
      (c.by == MatchedBy::index ? by_index : by_name).push_back(quote_name(c.name));
    }
    if (by_index.empty() || by_name.empty()) return;
    for (auto* names : {&by_index, &by_name})
      if (names->size() > kMostNamed) names->resize(kMostNamed);
    doubts_.push_back(fmt::format("some match by name ({}) and some only by index ({})",
                                  fmt::join(by_name, ", "), fmt::join(by_index, ", ")));
  }

  LabelIndex index_;
  const LabelMap& map_;
  std::vector<std::string> doubts_;
};

}  // namespace

std::string_view to_string(MatchedBy matched) {
  switch (matched) {
    case MatchedBy::name:
      return "name";
    case MatchedBy::form:
      return "form";
    case MatchedBy::synonym:
      return "synonym";
    case MatchedBy::wordnet_id:
      return "WordNet id";
    case MatchedBy::index:
      return "index";
    case MatchedBy::map:
      return "label map";
  }
  throw Error(ErrorCode::internal, "label mapping: unknown kind of match");
}

std::vector<MappedClass> map_labels(std::span<const std::string> classes, const Labels& labels,
                                    const LabelMap& map, std::string_view source) {
  Mapper mapper(labels, map);
  std::vector<MappedClass> mapped;
  mapped.reserve(classes.size());
  for (const std::string& name : classes) mapped.push_back(mapper.map(name));
  mapper.check(mapped);
  mapper.throw_doubts(source);
  return mapped;
}

LabelMap read_label_map(const std::string& file) {
  LabelMap map;
  for (const CsvRow& row : read_csv(file)) {
    if (row.fields.size() != 2) {
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("{}: line {}: expected a class and a label, found {} fields", file, row.line,
                              row.fields.size()));
    }
    const auto [entry, is_new] = map.try_emplace(row.fields[0], row.fields[1]);
    if (!is_new && entry->second != row.fields[1]) {
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("{}: line {}: class {} is there with another label already", file, row.line,
                              quote_name(row.fields[0])));
    }
  }
  return map;
}

}  // namespace vit::io
