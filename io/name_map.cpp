#include "io/name_map.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "io/load_report.hpp"
#include "io/quantisation.hpp"
#include "vit/error.hpp"
#include "vit/quantised.hpp"

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

using Choice = NameChoice;

/// What the tensors of a network are called by a family's table.
class Namer {
 public:
  explicit Namer(const NameTable& names) : names_(names) {}

  /// The parts of a canonical name, and its rule: that of the whole name before that of weight and bias.
  std::pair<Canonical, const NameRule*> find(const std::string& canonical) const {
    Canonical name = split(canonical);
    if (const NameRule* whole = find_rule(name.rule + name.suffix)) {
      name.rule += std::exchange(name.suffix, "");
      return {name, whole};
    }
    if (const NameRule* rule = find_rule(name.rule)) return {name, rule};
    throw Error(ErrorCode::internal, fmt::format("the family has no name for the tensor {}", canonical));
  }

  const NameRule* find_rule(const std::string& canonical) const {
    const auto at = std::find_if(names_.rules.begin(), names_.rules.end(),
                                 [&](const NameRule& r) { return r.canonical == canonical; });
    return at == names_.rules.end() ? nullptr : &*at;
  }

  /// The parts' names in a file, without the wrapper.
  std::vector<std::string> expand(const NameRule& r, const Canonical& name, const Choice& choice) const {
    const std::string_view base = names_.bases[choice.base];
    const std::string block = name.block.empty() ? ""
                                                 : fmt::format("{}{}{}{}", base, names_.blocks[choice.block],
                                                               name.block, names_.block_end);
    std::vector<std::string> parts;
    for (const std::string_view part : r.spellings[choice.spelling]) {
      if (part.empty()) {
        parts.emplace_back();
        continue;
      }
      std::string full = replaced(replaced(part, "{block}", block), "{base}", base);
      if (!name.suffix.empty()) full += full.ends_with('_') ? name.suffix.substr(1) : name.suffix;
      parts.push_back(std::move(full));
    }
    return parts;
  }

 private:
  const NameTable& names_;
};

/// The shape of each of a tensor's `parts` in the file.
Shape stored_shape(const TensorSpec& spec, const NameRule& r, std::size_t parts) {
  Shape shape(spec.shape.begin() + static_cast<std::ptrdiff_t>(r.dropped_axes), spec.shape.end());
  if (parts > 1) shape.front() /= static_cast<std::int64_t>(parts);
  shape.front() = shape.front() / (r.cut.to - r.cut.from) * r.cut.of;
  if (r.layout == Layout::kernel) return {shape[1], shape[0]};
  if (r.layout == Layout::image_kernel) return {shape[2], shape[3], shape[1], shape[0]};
  return shape;
}

/// Whether `found` is `expected` with some of its dimensions written as heads and the numbers of each.
bool splits(const Shape& found, const Shape& expected, std::int64_t heads) {
  std::size_t next = 0;
  for (const std::int64_t size : expected) {
    if (next < found.size() && found[next] == size) {
      ++next;
    } else if (next + 1 < found.size() && found[next] == heads && found[next + 1] * heads == size) {
      next += 2;
    } else {
      return false;
    }
  }
  return next == found.size();
}

/// [H, W, in, out] -> [out, in, H, W]
std::shared_ptr<const Tensor> from_image_kernel(const StoredTensor& stored) {
  const std::int64_t pixels = stored.shape[0] * stored.shape[1];
  const std::int64_t in = stored.shape[2];
  const std::int64_t out = stored.shape[3];
  const WeightView view{stored.shape, {{stored.data.data(), *stored.float_dtype, pixels * in * out}}};
  const Tensor kernel = view.to_tensor();
  auto result = std::make_shared<Tensor>(Shape{out, in, stored.shape[0], stored.shape[1]});
  float* next = result->data();
  for (std::int64_t o = 0; o < out; ++o) {
    for (std::int64_t i = 0; i < in; ++i) {
      for (std::int64_t p = 0; p < pixels; ++p) *next++ = kernel.data()[(p * in + i) * out + o];
    }
  }
  return result;
}

class Mapper {
 public:
  Mapper(const WeightFiles& files, const NameTable& names) : files_(files), namer_(names), names_(names) {}

  void map(const ModelConfig& config, Weights& weights) {
    heads_ = config.num_heads;
    for_each_tensor(config, weights,
                    [&](const TensorSpec& spec, WeightView& view) { find_tensor(spec, view); });
    for (const TensorSpec& spec : missing_) report_missing(spec);  // now the file's own spelling is known
  }

  NameMapping finish() {
    NameMapping mapping;
    for (const auto& [name, entry] : files_.tensors()) {
      if (!used_.contains(name) && !report_lone_scale(name)) sort_extra(name, mapping);
    }
    report_.unexpected.insert(report_.unexpected.end(), files_.not_in_index().begin(),
                              files_.not_in_index().end());
    report_.unmatched = mapping.unmatched;
    report_.throw_if_bad(files_.name().string(), used_.size());
    for (const std::string& dtype : dtypes_)
      mapping.stored_dtype += (mapping.stored_dtype.empty() ? "" : ", ") + dtype;
    for (const auto& [rule, votes] : votes_) {
      mapping.choices[rule] = std::max_element(votes.begin(), votes.end(), [](const auto& a, const auto& b) {
                                return a.second < b.second;
                              })->first;
    }
    mapping.quantised = !scales_.empty();
    mapping.tensors = std::move(tensors_);
    mapping.converted = std::move(converted_);
    return mapping;
  }

 private:
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
    const auto [name, found] = namer_.find(spec.name);
    const NameRule& r = *found;
    bool complete = false;
    const std::string& rule_name = name.rule;
    for_each_choice(r, name, [&, &name = name](const Choice& choice) {
      const std::vector<std::string> parts = namer_.expand(r, name, choice);
      std::vector<const StoredTensor*> stored;
      bool missing = false;
      for (const std::string& part : parts) {
        stored.push_back(part.empty() ? nullptr : files_.find(part));
        missing = missing || (stored.back() == nullptr && !part.empty());
      }
      if (missing) return false;
      take(spec, r, stored, view);
      ++votes_[rule_name][choice];
      complete = true;
      return true;
    });
    if (!complete) missing_.push_back(spec);
  }

  /// Checks the parts against the shape; they share its first dimension evenly.
  void take(const TensorSpec& spec, const NameRule& r, const std::vector<const StoredTensor*>& stored,
            WeightView& view) {
    const Shape expected = stored_shape(spec, r, stored.size());
    const bool quantisable = r.layout == Layout::as_is && is_quantisable(spec.name, spec.shape);
    view.shape = spec.shape;
    for (const StoredTensor* part : stored) {
      if (part == nullptr) {
        add_zeros(element_count(expected), view);
        continue;
      }
      if (!check(*part, r.layout, expected)) continue;
      if (quantisable && is_levels(*part)) {
        take_levels(*part, r.cut, view);
        continue;
      }
      if (!check_float(*part)) continue;
      if (r.layout == Layout::image_kernel) {
        converted_.push_back(from_image_kernel(*part));
        const Tensor& kernel = *converted_.back();
        view.parts.push_back({reinterpret_cast<const std::byte*>(kernel.data()), DType::f32, kernel.size()});
        continue;
      }
      const std::int64_t share = element_count(part->shape) / r.cut.of;
      view.parts.push_back({part->data.data() + r.cut.from * share * size_of(*part->float_dtype),
                            *part->float_dtype, (r.cut.to - r.cut.from) * share,
                            r.layout == Layout::kernel ? expected[1] : 0});
    }
  }

  static bool is_levels(const StoredTensor& part) { return part.dtype == vit::to_string(DType::i8); }

  /// Of a matrix of 8-bit integers, with the scales beside it.
  void take_levels(const StoredTensor& part, const Cut& cut, WeightView& view) {
    const Tensor* scales = find_scales(part);
    if (scales == nullptr) return;
    dtypes_.insert(part.dtype);
    const std::int64_t size = element_count(part.shape) / cut.of;
    const std::int64_t rows = part.shape.front() / cut.of;
    view.parts.push_back({part.data.data() + cut.from * size, DType::i8, (cut.to - cut.from) * size, 0,
                          scales->data() + cut.from * rows});
  }

  /// Widened, once for all of the network's tensors that lie in one of the file's; nullptr if they do not
  /// fit.
  const Tensor* find_scales(const StoredTensor& part) {
    const std::string name = part.name + std::string(kScaleEnding);
    const auto [known, is_new] = scales_.try_emplace(name, nullptr);
    if (!is_new) return known->second;
    const auto found = files_.tensors().find(name);
    if (found == files_.tensors().end()) {
      report_.scales.push_back(fmt::format("{} (missing, and {} is I8)", name, part.name));
      return nullptr;
    }
    const StoredTensor& stored = *found->second.tensor;
    used_.insert(name);
    const Shape expected{part.shape.front(), 1};
    if (!stored.float_dtype || stored.shape != expected) {
      report_.scales.push_back(fmt::format("{} (expected F32 {}, found {} {})", name, to_string(expected),
                                           stored.dtype, to_string(stored.shape)));
      return nullptr;
    }
    const WeightView view{expected, {{stored.data.data(), *stored.float_dtype, expected.front()}}};
    auto scales = std::make_shared<const Tensor>(view.to_tensor());
    const auto values = scales->elements();
    const auto bad = std::find_if(values.begin(), values.end(),
                                  [](float scale) { return !(scale > 0) || !std::isfinite(scale); });
    if (bad != values.end()) {
      report_.scales.push_back(
          fmt::format("{} (its number {} is {}, expected one above 0)", name, bad - values.begin(), *bad));
      return nullptr;
    }
    known->second = scales.get();
    converted_.push_back(std::move(scales));
    return known->second;
  }

  /// Whether a tensor that nothing uses is named as the scales of one that has no use for them.
  bool report_lone_scale(const std::string& name) {
    if (!name.ends_with(kScaleEnding)) return false;
    const std::string of = name.substr(0, name.size() - kScaleEnding.size());
    const auto tensor = files_.tensors().find(of);
    if (tensor != files_.tensors().end() && used_.contains(of)) {
      report_.scales.push_back(
          fmt::format("{} ({} is {} and needs none)", name, of, tensor->second.tensor->dtype));
      return true;
    }
    if (std::find(report_.missing.begin(), report_.missing.end(), of) == report_.missing.end()) return false;
    report_.scales.push_back(fmt::format("{} (there is no {})", name, of));
    return true;
  }

  void add_zeros(std::int64_t size, WeightView& view) {
    auto zeros = std::make_shared<Tensor>(Shape{size});
    std::fill_n(zeros->data(), size, 0.0F);
    view.parts.push_back({reinterpret_cast<const std::byte*>(zeros->data()), DType::f32, size});
    converted_.push_back(std::move(zeros));
  }

  bool check(const StoredTensor& part, Layout layout, const Shape& expected) {
    if (used_.insert(part.name).second) tensors_.push_back({part.name, part.shape});
    const bool may_split = layout == Layout::flattened || layout == Layout::kernel;
    if (part.shape != expected && !(may_split && splits(part.shape, expected, heads_))) {
      add_once(report_.misshaped, fmt::format("{} (expected {}, found {})", part.name, to_string(expected),
                                              to_string(part.shape)));
      return false;
    }
    return true;
  }

  bool check_float(const StoredTensor& part) {
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
    const auto [name, found] = namer_.find(spec.name);
    const NameRule& r = *found;
    Choice best = usual_choice(name, r);
    std::ptrdiff_t most = 0;
    for_each_choice(r, name, [&, &name = name](const Choice& choice) {
      const std::vector<std::string> parts = namer_.expand(r, name, choice);
      const auto present = std::count_if(parts.begin(), parts.end(), [&](const std::string& part) {
        return !part.empty() && files_.find(part) != nullptr;
      });
      if (present > most) {
        most = present;
        best = choice;
      }
      return false;
    });
    for (const std::string& part : namer_.expand(r, name, best)) {
      if (part.empty()) continue;
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
        return in_block(rule_name) &&
               (r.spellings.size() == 1 || namer_.find_rule(rule_name)->spellings.size() > 1);
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
    const auto ends = [&](std::string_view ending) { return rest.ends_with(ending); };
    const bool no_numbers = element_count(files_.tensors().find(name)->second.tensor->shape) == 0;
    if (no_numbers || std::any_of(names_.ignored.begin(), names_.ignored.end(), begins) ||
        std::any_of(names_.ignored_endings.begin(), names_.ignored_endings.end(), ends)) {
      mapping.ignored.push_back(name);
    } else if (in_network || std::any_of(names_.network.begin(), names_.network.end(), begins)) {
      report_.unexpected.push_back(name);
    } else {
      mapping.unmatched.push_back(name);
    }
  }

  const WeightFiles& files_;
  Namer namer_;
  const NameTable& names_;
  std::int64_t heads_ = 0;
  LoadReport report_;
  std::vector<TensorSpec> missing_;
  std::set<std::string, std::less<>> used_;  // as in the file
  std::set<std::string> dtypes_;
  std::vector<TensorSpec> tensors_;
  std::vector<std::shared_ptr<const Tensor>> converted_;
  std::map<std::string, const Tensor*, std::less<>> scales_;  // by their names; null: they do not fit
  std::map<std::string, std::map<Choice, int>> votes_;        // rule -> how its tensors were spelled
};

}  // namespace

NameMapping map_weights(const WeightFiles& files, const NameTable& names, const ModelConfig& config,
                        Weights& weights) {
  Mapper mapper(files, names);
  mapper.map(config, weights);
  return mapper.finish();
}

namespace {

Choice choice_of(const NameChoices& choices, const std::string& rule) {
  const auto at = choices.find(rule);
  return at == choices.end() ? Choice{} : at->second;
}

}  // namespace

std::vector<TensorSpec> file_tensors(const NameTable& names, const ModelConfig& config,
                                     const NameChoices& choices) {
  const Namer namer(names);
  std::vector<TensorSpec> tensors;
  std::set<std::string> listed;  // several of the network's tensors may lie in one of the file's
  Weights none;
  for_each_tensor(config, none, [&](const TensorSpec& spec, WeightView&) {
    const auto [name, rule] = namer.find(spec.name);
    const std::vector<std::string> parts = namer.expand(*rule, name, choice_of(choices, name.rule));
    for (const std::string& part : parts) {
      if (!part.empty() && listed.insert(part).second)
        tensors.push_back({part, stored_shape(spec, *rule, parts.size())});
    }
  });
  return tensors;
}

std::vector<FilePiece> file_pieces(const NameTable& names, const ModelConfig& config,
                                   const NameChoices& choices, Weights& weights) {
  const Namer namer(names);
  std::map<std::string, std::size_t> index;
  const std::vector<TensorSpec> tensors = file_tensors(names, config, choices);
  for (std::size_t i = 0; i < tensors.size(); ++i) index[tensors[i].name] = i;
  std::vector<FilePiece> pieces;
  for_each_tensor(config, weights, [&](const TensorSpec& spec, WeightView& view) {
    const auto [name, rule] = namer.find(spec.name);
    if (rule->layout != Layout::as_is)
      throw Error(ErrorCode::internal, fmt::format("{}: this layout is not written", spec.name));
    const std::vector<std::string> parts = namer.expand(*rule, name, choice_of(choices, name.rule));
    const auto count = static_cast<std::int64_t>(parts.size());
    const std::int64_t rows = spec.shape.front() / count;
    for (std::int64_t i = 0; i < count; ++i) {
      const std::string& part = parts[static_cast<std::size_t>(i)];
      if (part.empty()) continue;
      const std::size_t at = index.at(part);
      const std::int64_t begin = element_count(tensors[at].shape) / rule->cut.of * rule->cut.from;
      pieces.push_back(
          {at, begin, count == 1 ? view : view.rows(i * rows, rows), is_quantisable(spec.name, spec.shape)});
    }
  });
  return pieces;
}

}  // namespace vit::io
