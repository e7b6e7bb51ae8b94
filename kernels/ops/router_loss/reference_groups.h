// The sums that a router's losses and statistics need of one balance group, in double.
#ifndef TRIREME_KERNELS_OPS_ROUTER_LOSS_REFERENCE_GROUPS_H_
#define TRIREME_KERNELS_OPS_ROUTER_LOSS_REFERENCE_GROUPS_H_

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/ops/reference_util.h"

namespace trireme {

// A router's operands: B sequences of P positions, E experts, k choices.
struct RouterInputs {
  const Tensor& logits;    // [B, P, E]
  const Tensor& ids;       // [B, P, k]
  const Tensor& weights;   // [B, P]
  const Tensor& segments;  // [B, P]

  int64_t experts() const { return LastSize(logits); }
  int64_t positions() const { return logits.size(1); }
  bool IsValid(int64_t token) const { return Load(segments, token) >= 0; }
};

// Probabilities of one token, which sum to 1: the softmax, or sigmoids over their sum.
struct TokenRouting {
  std::vector<double> z;        // logits
  std::vector<double> softmax;  // of the logits
  std::vector<double> p;
  double lse = 0;  // logsumexp of the logits
};

inline TokenRouting RouteToken(const RouterInputs& in, int64_t token, bool sigmoid) {
  TokenRouting t;
  const int64_t experts = in.experts();
  for (int64_t e = 0; e < experts; ++e) t.z.push_back(Load(in.logits, token * experts + e));
  const double max = *std::max_element(t.z.begin(), t.z.end());
  double sum = 0, scores = 0;
  for (const double z : t.z) {
    t.softmax.push_back(std::exp(z - max));
    t.p.push_back(sigmoid ? 1 / (1 + std::exp(-z)) : t.softmax.back());
    sum += t.softmax.back();
    scores += t.p.back();
  }
  for (double& p : t.softmax) p /= sum;
  for (double& p : t.p) p /= scores;
  t.lse = max + std::log(sum);
  return t;
}

struct RouterGroup {
  double tokens = 0;           // valid ones; padding is in none of these
  double weight = 0;           // sum of loss weights
  double assignments = 0;      // sum of counts
  std::vector<double> counts;  // assignments of each expert
  std::vector<double> sum_p;   // over tokens
  double sum_squared_lse = 0;  // over tokens
  double sum_entropy = 0;      // over tokens

  // E sum_e load_e P_e; 1 when balanced. 0 without tokens.
  double BalanceLoss() const {
    double sum = 0;
    for (size_t e = 0; e < counts.size(); ++e) sum += counts[e] * sum_p[e];
    return tokens > 0 ? static_cast<double>(counts.size()) * sum / (assignments * tokens) : 0.0;
  }
  double ZLoss() const { return tokens > 0 ? sum_squared_lse / tokens : 0.0; }
};

inline RouterGroup SumGroup(const RouterInputs& in, int64_t begin, int64_t end, bool sigmoid) {
  RouterGroup group;
  const int64_t k = LastSize(in.ids);
  group.counts.resize(in.experts());
  group.sum_p.resize(in.experts());
  for (int64_t token = begin; token < end; ++token) {
    if (!in.IsValid(token)) continue;
    group.tokens += 1;
    group.weight += Load(in.weights, token);
    for (int64_t c = 0; c < k; ++c) {
      const int64_t id = static_cast<int64_t>(Load(in.ids, token * k + c));
      group.counts[id] += 1;
      group.assignments += 1;
    }
    const TokenRouting t = RouteToken(in, token, sigmoid);
    group.sum_squared_lse += t.lse * t.lse;
    for (size_t e = 0; e < t.p.size(); ++e) {
      group.sum_p[e] += t.p[e];
      if (t.p[e] != 0) group.sum_entropy -= t.p[e] * std::log(t.p[e]);
    }
  }
  return group;
}

// Tokens in a balance group of `sequences` rows. The batch must hold whole groups.
inline int64_t GroupTokens(const RouterInputs& in, int64_t sequences) {
  CHECK_EQ(in.logits.size(0) % sequences, 0) << "a shard of the batch must hold whole groups";
  return sequences * in.positions();
}

}  // namespace trireme

#endif  // TRIREME_KERNELS_OPS_ROUTER_LOSS_REFERENCE_GROUPS_H_
