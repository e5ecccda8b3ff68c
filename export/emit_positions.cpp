// Positions that attention itself looks at: vit/attention_positions.cpp.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "export/vit_emitter.hpp"
#include "vit/attention_positions.hpp"

namespace vit::exporter {
namespace {

/// (a cos − b sin, b cos + a sin) as x ⊙ cosines + swapped(x) ⊙ sines: one row of both for each token, for
/// every element of a head. Tokens in front of the patches are not turned.
struct RotaryConstants {
  std::vector<float> cosines;  // [T, d]
  std::vector<float> sines;    // [T, d]
};

RotaryConstants rotary_constants(const ModelConfig& config, Size2 image) {
  const auto d = static_cast<std::size_t>(config.head_size());
  const auto T = static_cast<std::size_t>(config.num_tokens(image));
  const auto prefix = static_cast<std::size_t>(config.num_prefix_tokens());
  const backend::RotaryTable table = rotary_table(config, config.grid(image));
  RotaryConstants constants{std::vector<float>(T * d, 1.0F), std::vector<float>(T * d, 0.0F)};
  for (std::size_t t = prefix; t < T; ++t) {
    for (std::size_t pair = 0; pair < d / 2; ++pair) {
      const bool halves = config.rotary_layout == RotaryLayout::halves;
      const std::size_t a = t * d + (halves ? pair : 2 * pair);
      const std::size_t b = halves ? a + d / 2 : a + 1;
      const std::size_t source = (t - prefix) * (d / 2) + pair;
      constants.cosines[a] = constants.cosines[b] = table.cosines.data()[source];
      constants.sines[a] = -table.sines.data()[source];
      constants.sines[b] = table.sines.data()[source];
    }
  }
  return constants;
}

/// Rows of a table of relative positions for all pairs of query and key, class token first: [T, T].
std::vector<std::int64_t> relative_index(Size2 grid) {
  const std::int64_t N = grid.height * grid.width;
  const std::int64_t last =
      (2 * grid.height - 1) * (2 * grid.width - 1);  // behind it: those of the class token
  std::vector<std::int64_t> index{last + 2};
  for (std::int64_t key = 0; key < N; ++key) index.push_back(last);
  for (std::int64_t query = 0; query < N; ++query) {
    index.push_back(last + 1);
    for (std::int64_t key = 0; key < N; ++key) {
      const std::int64_t dy = query / grid.width - key / grid.width + grid.height - 1;
      const std::int64_t dx = query % grid.width - key % grid.width + grid.width - 1;
      index.push_back(dy * (2 * grid.width - 1) + dx);
    }
  }
  return index;
}

}  // namespace

void VitEmitter::fixed_rotation() {
  if (!rotary_cosines_.empty()) return;
  const std::int64_t d = config_.head_size();
  RotaryConstants constants = rotary_constants(config_, options_.image_size);
  rotary_cosines_ = builder_.constant("rotary.cosines", {num_tokens(), 1, d}, std::move(constants.cosines));
  rotary_sines_ = builder_.constant("rotary.sines", {num_tokens(), 1, d}, std::move(constants.sines));
}

std::string VitEmitter::for_both(const std::string& module, const std::string& of_pairs) {
  if (config_.rotary_layout == RotaryLayout::halves)
    return builder_.node(module, "Concat", {of_pairs, of_pairs}, {{"axis", std::int64_t{-1}}});
  std::vector<std::int64_t> pairs;
  for (std::int64_t i = 0; i < config_.head_size(); ++i) pairs.push_back(i / 2);
  return builder_.node(
      module, "Gather",
      {of_pairs, builder_.named_ints("rotary.pair_of", {config_.head_size()}, std::move(pairs))},
      {{"axis", std::int64_t{2}}});
}

/// Angles f i + g j of the block's heads, from constants alone: runtimes compute them once. Tokens in front
/// of the patches stand at (0, 0), which turns nothing.
void VitEmitter::learned_rotation(std::int64_t index) {
  if (rotary_block_ == index) return;
  const std::string module = fmt::format("/blocks.{}.rope", index);
  const std::int64_t T = num_tokens();
  const std::int64_t prefix = config_.num_prefix_tokens();
  const Size2 grid = config_.grid(options_.image_size);
  std::vector<float> rows(static_cast<std::size_t>(T), 0.0F);
  std::vector<float> columns = rows;
  std::vector<float> signs;
  for (std::int64_t t = prefix; t < T; ++t) {
    const double y = static_cast<double>((t - prefix) / grid.width) + config_.rotary_offset;
    const double x = static_cast<double>((t - prefix) % grid.width) + config_.rotary_offset;
    rows[static_cast<std::size_t>(t)] = static_cast<float>(y);
    columns[static_cast<std::size_t>(t)] = static_cast<float>(x);
  }
  const std::int64_t d = config_.head_size();
  for (std::int64_t i = 0; i < d; ++i) {
    const bool first = config_.rotary_layout == RotaryLayout::halves ? i < d / 2 : i % 2 == 0;
    signs.push_back(first ? -1.0F : 1.0F);
  }
  const bool rows_first = config_.rotary_order == RotaryOrder::rows_first;
  if (rotary_block_ < 0) {
    vector("rope.freqs", weights_.rotary_frequencies);
    builder_.constant("rotary.first", {T, 1, 1}, rows_first ? rows : columns);
    builder_.constant("rotary.second", {T, 1, 1}, rows_first ? columns : rows);
    builder_.constant("rotary.signs", {d}, std::move(signs));
  }
  rotary_block_ = index;
  const auto gather = [&](const std::string& from, std::int64_t at, std::int64_t axis) {
    return builder_.node(module, "Gather", {from, builder_.index(at)}, {{"axis", axis}});
  };
  const std::string frequencies = gather("rope.freqs", index, 1);  // [2, h, d/2]
  const std::string first = builder_.node(module, "Mul", {"rotary.first", gather(frequencies, 0, 0)});
  const std::string second = builder_.node(module, "Mul", {"rotary.second", gather(frequencies, 1, 0)});
  const std::string angles = builder_.node(module, "Add", {first, second});  // [T, h, d/2]
  rotary_cosines_ = for_both(module + "/cos", builder_.node(module, "Cos", {angles}));
  const std::string sines = for_both(module + "/sin", builder_.node(module, "Sin", {angles}));
  rotary_sines_ = builder_.node(module, "Mul", {sines, "rotary.signs"});
}

std::string VitEmitter::rotated(const std::string& module, const std::string& heads, std::int64_t index) {
  const std::int64_t d = config_.head_size();
  if (config_.rotary == RotaryEmbedding::mixed) {
    learned_rotation(index);
  } else {
    fixed_rotation();
  }
  std::string swapped;  // the other element of each pair
  if (config_.rotary_layout == RotaryLayout::halves) {
    const auto half = [&](std::int64_t begin) {
      return builder_.node(
          module, "Slice",
          {heads, builder_.ints({begin}), builder_.ints({begin + d / 2}), builder_.ints({3})});
    };
    const std::string upper = half(d / 2);
    swapped = builder_.node(module, "Concat", {upper, half(0)}, {{"axis", std::int64_t{-1}}});
  } else {
    std::vector<std::int64_t> order;
    for (std::int64_t i = 0; i < d; ++i) order.push_back(i ^ 1);
    swapped =
        builder_.node(module, "Gather", {heads, builder_.named_ints("rotary.pairs", {d}, std::move(order))},
                      {{"axis", std::int64_t{3}}});
  }
  return builder_.node(module, "Add",
                       {builder_.node(module, "Mul", {heads, rotary_cosines_}),
                        builder_.node(module, "Mul", {swapped, rotary_sines_})});
}

/// [h, T, T]: runtimes compute it once, from constants alone.
std::string VitEmitter::gathered_positions(const std::string& name, const Tensor& table) {
  const std::int64_t T = num_tokens();
  const std::vector<float> values(table.data(), table.data() + table.size());
  const std::string weight = builder_.constant(name, table.shape(), values);
  const std::string index = builder_.named_ints("relative_position_index", {T, T},
                                                relative_index(config_.grid(options_.image_size)));
  return transpose("/" + name,
                   builder_.node("/" + name, "Gather", {weight, index}, {{"axis", std::int64_t{0}}}),
                   {2, 0, 1});
}

std::string VitEmitter::relative_bias(const std::string& name, std::int64_t index) {
  const Size2 grid = config_.grid(options_.image_size);
  const WeightView& own = weights_.blocks[static_cast<std::size_t>(index)].relative_positions;
  const WeightView& shared = weights_.relative_positions;
  if (config_.relative_positions != RelativePositions::shared) {
    const Tensor table = resample_relative_positions(config_, relative_table(own, shared), grid);
    return gathered_positions(name + ".attn.relative_position_bias_table", table);
  }
  if (shared_relative_bias_.empty()) {
    const Tensor table = resample_relative_positions(config_, relative_table(own, shared), grid);
    shared_relative_bias_ = gathered_positions("rel_pos_bias.relative_position_bias_table", table);
  }
  return shared_relative_bias_;
}

}  // namespace vit::exporter
