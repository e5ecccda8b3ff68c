#include "io/name_map.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "io/load_report.hpp"
#include "vit/error.hpp"

namespace vit::io {
namespace {

/// "blocks.3.attn.qkv.weight" -> {"blocks.*.attn.qkv", "3", ".weight"}
struct Canonical {
  std::string rule;
  std::string block;
  std::string suffix;
};

Canonical split(std::string_view name) {
  Canonical parts;
  for (const std::string_view suffix : {std::string_view(".weight"), std::string_view(".bias")}) {
    if (name.ends_with(suffix)) {
      parts.suffix = suffix;
      name.remove_suffix(suffix.size());
      break;
    }
  }
  constexpr std::string_view kBlocks = "blocks.";
  if (!name.starts_with(kBlocks)) {
    parts.rule = name;
    return parts;
  }
  name.remove_prefix(kBlocks.size());
  const std::size_t dot = name.find('.');
  parts.block = name.substr(0, dot);
  parts.rule = fmt::format("blocks.*{}", name.substr(dot));
  return parts;
}

std::string replaced(std::string_view text, std::string_view what, std::string_view by) {
  const std::size_t at = text.find(what);
  if (at == std::string_view::npos) return std::string(text);
  return fmt::format("{}{}{}", text.substr(0, at), by, text.substr(at + what.size()));
}

/// Several of the network's tensors may lie in one of the file's.
void add_once(std::vector<std::string>& list, std::string text) {
  if (std::find(list.begin(), list.end(), text) == list.end()) list.push_back(std::move(text));
}

/// Which combination of a NameTable's alternatives.
struct Choice {
  std::size_t base = 0;
  std::size_t block = 0;
  std::size_t spelling = 0;

  auto operator<=>(const Choice&) const = default;
};

class Mapper {
 public:
  Mapper(const WeightFiles& files, const NameTable& names) : files_(files), names_(names) {}

  void map(const ModelConfig& config, Weights& weights) {
    for_each_tensor(config, weights,
                    [&](const TensorSpec& spec, WeightView& view) { find_tensor(spec, view); });
    for (const TensorSpec& spec : missing_) report_missing(spec);  // now the file's own spelling is known
  }

  NameMapping finish() {
    NameMapping mapping;
    for (const auto& [name, entry] : files_.tensors()) {
      if (!used_.contains(name)) sort_extra(name, mapping);
    }
    report_.unexpected.insert(report_.unexpected.end(), files_.not_in_index().begin(),
                              files_.not_in_index().end());
    report_.unmatched = mapping.unmatched;
    report_.throw_if_bad(files_.name().string(), used_.size());
    for (const std::string& dtype : dtypes_)
      mapping.stored_dtype += (mapping.stored_dtype.empty() ? "" : ", ") + dtype;
    return mapping;
  }

 private:
  const NameRule* find_rule(std::string_view canonical) const {
    const auto at = std::find_if(names_.rules.begin(), names_.rules.end(),
                                 [&](const NameRule& r) { return r.canonical == canonical; });
    return at == names_.rules.end() ? nullptr : &*at;
  }

  /// A bias has its weight's rule, unless there is one for it alone.
  Canonical canonical_of(const TensorSpec& spec) const {
    Canonical name = split(spec.name);
    if (find_rule(name.rule + name.suffix) != nullptr) name.rule += std::exchange(name.suffix, "");
    return name;
  }

  const NameRule& rule(const std::string& canonical) const {
    const NameRule* at = find_rule(canonical);
    if (at == nullptr) {
      throw Error(ErrorCode::internal, fmt::format("the family has no name for the tensor {}", canonical));
    }
    return *at;
  }

  /// The parts' names in a file, without the wrapper.
  std::vector<std::string> expand(const NameRule& r, const Canonical& name, const Choice& choice) const {
    const std::string_view base = names_.bases[choice.base];
    const std::string block =
        name.block.empty() ? "" : fmt::format("{}{}{}.", base, names_.blocks[choice.block], name.block);
    std::vector<std::string> parts;
    for (const std::string_view part : r.spellings[choice.spelling]) {
      std::string full = replaced(replaced(part, "{block}", block), "{base}", base);
      full += full.ends_with('_') ? name.suffix.substr(1) : name.suffix;
      parts.push_back(std::move(full));
    }
    return parts;
  }

  template <class Visit>  // Visit(choice) -> true to stop
  void for_each_choice(const NameRule& r, const Canonical& name, Visit visit) const {
    const std::size_t blocks = name.block.empty() ? 1 : names_.blocks.size();
    for (Choice c{}; c.base < names_.bases.size(); ++c.base) {
      for (c.block = 0; c.block < blocks; ++c.block) {
        for (c.spelling = 0; c.spelling < r.spellings.size(); ++c.spelling) {
          if (visit(c)) return;
        }
      }
    }
  }

  void find_tensor(const TensorSpec& spec, WeightView& view) {
    const Canonical name = canonical_of(spec);
    const NameRule& r = rule(name.rule);
    bool complete = false;
    for_each_choice(r, name, [&](const Choice& choice) {
      const std::vector<std::string> parts = expand(r, name, choice);
      std::vector<const StoredTensor*> stored;
      for (const std::string& part : parts) stored.push_back(files_.find(part));
      if (std::find(stored.begin(), stored.end(), nullptr) != stored.end()) return false;
      take(spec, r, stored, view);
      ++votes_[name.rule][choice];
      complete = true;
      return true;
    });
    if (!complete) missing_.push_back(spec);
  }

  /// Checks the parts against the shape; they share its first dimension evenly.
  void take(const TensorSpec& spec, const NameRule& r, const std::vector<const StoredTensor*>& stored,
            WeightView& view) {
    Shape expected(spec.shape.begin() + static_cast<std::ptrdiff_t>(r.dropped_axes), spec.shape.end());
    if (stored.size() > 1) expected.front() /= static_cast<std::int64_t>(stored.size());
    expected.front() = expected.front() / (r.cut.to - r.cut.from) * r.cut.of;
    view.shape = spec.shape;
    for (const StoredTensor* part : stored) {
      if (!check(*part, expected)) continue;
      const std::int64_t share = element_count(part->shape) / r.cut.of;
      view.parts.push_back({part->data.data() + r.cut.from * share * size_of(*part->float_dtype),
                            *part->float_dtype, (r.cut.to - r.cut.from) * share});
    }
  }

  bool check(const StoredTensor& part, const Shape& expected) {
    used_.insert(part.name);
    if (part.shape != expected) {
      add_once(report_.misshaped, fmt::format("{} (expected {}, found {})", part.name, to_string(expected),
                                              to_string(part.shape)));
      return false;
    }
    if (!part.float_dtype) {
      add_once(report_.wrong_dtype,
               fmt::format("{} (expected F32, F16 or BF16, found {})", part.name, part.dtype));
      return false;
    }
    dtypes_.insert(part.dtype);
    return true;
  }

  /// Names what is missing as the file would: where a part is there, in that part's spelling; else as this
  /// tensor is called in other blocks; else as most tensors are.
  void report_missing(const TensorSpec& spec) {
    const Canonical name = canonical_of(spec);
    const NameRule& r = rule(name.rule);
    Choice best = usual_choice(name, r);
    std::ptrdiff_t most = 0;
    for_each_choice(r, name, [&](const Choice& choice) {
      const std::vector<std::string> parts = expand(r, name, choice);
      const auto present = std::count_if(
          parts.begin(), parts.end(), [&](const std::string& part) { return files_.find(part) != nullptr; });
      if (present > most) {
        most = present;
        best = choice;
      }
      return false;
    });
    for (const std::string& part : expand(r, name, best)) {
      if (files_.find(part) == nullptr) {
        add_once(report_.missing, files_.wrapper() + part);
      } else {
        used_.insert(files_.wrapper() + part);
      }
    }
  }

  Choice usual_choice(const Canonical& name, const NameRule& r) const {
    std::map<Choice, int> votes;
    const auto count = [&](auto alike) {
      for (const auto& [rule_name, rule_votes] : votes_) {
        if (!alike(rule_name)) continue;
        for (const auto& [choice, number] : rule_votes) votes[choice] += number;
      }
    };
    const auto in_block = [](const std::string& rule_name) { return rule_name.starts_with("blocks."); };
    if (const auto own = votes_.find(name.rule); own != votes_.end()) {
      votes = own->second;
    } else if (name.block
                   .empty()) {  // blocks may have another prefix than the rest, but tell more than nothing
      count([&](const std::string& rule_name) { return !in_block(rule_name); });
      if (votes.empty()) count([](const std::string&) { return true; });
    } else {  // names that have one spelling say nothing about others
      count([&](const std::string& rule_name) {
        return in_block(rule_name) && (r.spellings.size() == 1 || rule(rule_name).spellings.size() > 1);
      });
    }
    const auto most = std::max_element(votes.begin(), votes.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    Choice choice = most == votes.end() ? Choice{} : most->first;
    choice.spelling = std::min(choice.spelling, r.spellings.size() - 1);
    return choice;
  }

  void sort_extra(const std::string& name, NameMapping& mapping) {
    std::string_view rest = std::string_view(name).substr(files_.wrapper().size());
    bool in_network = false;
    for (const std::string_view base : names_.bases) {
      if (!base.empty() && rest.starts_with(base)) {
        rest.remove_prefix(base.size());
        in_network = true;
        break;
      }
    }
    const auto begins = [&](std::string_view prefix) { return rest.starts_with(prefix); };
    if (std::any_of(names_.ignored.begin(), names_.ignored.end(), begins)) {
      mapping.ignored.push_back(name);
    } else if (in_network || std::any_of(names_.network.begin(), names_.network.end(), begins)) {
      report_.unexpected.push_back(name);
    } else {
      mapping.unmatched.push_back(name);
    }
  }

  const WeightFiles& files_;
  const NameTable& names_;
  LoadReport report_;
  std::vector<TensorSpec> missing_;
  std::set<std::string, std::less<>> used_;  // as in the file
  std::set<std::string> dtypes_;
  std::map<std::string, std::map<Choice, int>> votes_;  // rule -> how its tensors were spelled
};

}  // namespace

NameMapping map_weights(const WeightFiles& files, const NameTable& names, const ModelConfig& config,
                        Weights& weights) {
  Mapper mapper(files, names);
  mapper.map(config, weights);
  return mapper.finish();
}

}  // namespace vit::io
