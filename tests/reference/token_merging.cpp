#include "tests/reference/token_merging.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace vit::reference {
namespace {

/// What one token of the result is made of.
using Group = std::vector<std::int64_t>;

std::vector<double> mean_key(const Array& keys, std::int64_t b, std::int64_t token, std::int64_t heads) {
  const std::int64_t d = keys.dim(2) / heads;
  std::vector<double> mean(static_cast<std::size_t>(d));
  for (std::int64_t i = 0; i < keys.dim(2); ++i)
    mean[static_cast<std::size_t>(i % d)] += keys(b, token, i) / static_cast<double>(heads);
  return mean;
}

double cosine(const std::vector<double>& a, const std::vector<double>& b) {
  double dot = 0;
  double aa = 0;
  double bb = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    dot += a[i] * b[i];
    aa += a[i] * a[i];
    bb += b[i] * b[i];
  }
  return dot / std::sqrt(aa * bb);
}

struct Edge {
  double similarity;
  std::int64_t a, b;
};

/// The groups of an image in the order of the result.
std::vector<Group> groups(const Array& keys, std::int64_t b, const MergeRule& rule) {
  const std::int64_t T = keys.dim(1);
  std::vector<Edge> edges;  // of each patch of set A to the one of B that is most like it
  for (std::int64_t a = 0; a < T; a += 2) {
    if (a < rule.prefix) continue;
    Edge best{-2, a, -1};
    for (std::int64_t other = 1; other < T; other += 2) {
      if (other < rule.prefix) continue;
      const double similarity =
          cosine(mean_key(keys, b, a, rule.heads), mean_key(keys, b, other, rule.heads));
      if (similarity > best.similarity) best = {similarity, a, other};
    }
    edges.push_back(best);
  }
  std::stable_sort(edges.begin(), edges.end(),
                   [](const Edge& x, const Edge& y) { return x.similarity > y.similarity; });
  const std::int64_t r = std::min(rule.tokens, (T - rule.prefix) / 2);

  std::vector<Group> result;
  for (std::int64_t t = 0; t < rule.prefix; ++t) result.push_back({t});
  std::vector<std::int64_t> alone;
  for (std::size_t i = static_cast<std::size_t>(r); i < edges.size(); ++i) alone.push_back(edges[i].a);
  if (rule.prefix > 0) std::sort(alone.begin(), alone.end());
  for (const std::int64_t a : alone) result.push_back({a});
  for (std::int64_t other = 1; other < T; other += 2) {
    if (other < rule.prefix) continue;
    Group group{other};
    for (std::size_t i = 0; i < static_cast<std::size_t>(r); ++i)
      if (edges[i].b == other) group.push_back(edges[i].a);
    result.push_back(group);
  }
  return result;
}

}  // namespace

MergedTokens merge_tokens(const Array& x, const Array& sizes, const Array& keys, const MergeRule& rule) {
  const std::int64_t left = x.dim(1) - std::min(rule.tokens, (x.dim(1) - rule.prefix) / 2);
  MergedTokens merged{Array({x.dim(0), left, x.dim(2)}), Array({x.dim(0), left})};
  for (std::int64_t b = 0; b < x.dim(0); ++b) {
    const std::vector<Group> all = groups(keys, b, rule);
    for (std::int64_t t = 0; t < left; ++t) {
      const Group& group = all.at(static_cast<std::size_t>(t));
      for (const std::int64_t member : group) merged.sizes(b, t) += sizes(b, member);
      for (std::int64_t d = 0; d < x.dim(2); ++d) {
        for (const std::int64_t member : group)
          merged.x(b, t, d) += x(b, member, d) * sizes(b, member) / merged.sizes(b, t);
      }
    }
  }
  return merged;
}

}  // namespace vit::reference
