// Sums over balance groups. Quantile balancing: alpha_t = the (k+1)-th largest of z_t + bias (the
// k-th when k = E), n = max(1, T_g k div E), beta_ge = the n-th largest over the group's valid
// tokens of z_te - alpha_t. Routers whose bias is not on the logits have no beta: 0.
#include <algorithm>

#include "kernels/ops/kernel.h"
#include "kernels/ops/route/routing.h"
#include "kernels/ops/router_loss/reference_groups.h"
#include "kernels/ops/router_stats/layout.h"

namespace trireme {
namespace {

// The n-th largest, n >= 1.
double NthLargest(std::vector<double> values, int64_t n) {
  std::nth_element(values.begin(), values.begin() + (n - 1), values.end(), RanksAbove);
  return values[n - 1];
}

// beta of every expert for the group of tokens [begin, end), of which `tokens` > 0 are valid.
std::vector<double> Betas(const RouterInputs& in, const Tensor& bias, int64_t k, int64_t begin,
                          int64_t end, int64_t tokens) {
  const int64_t experts = in.experts();
  std::vector<std::vector<double>> margins(experts);
  for (int64_t token = begin; token < end; ++token) {
    if (!in.IsValid(token)) continue;
    std::vector<double> s;
    for (int64_t e = 0; e < experts; ++e) {
      s.push_back(Load(in.logits, token * experts + e) + Load(bias, e));
    }
    const double alpha = NthLargest(s, std::min(k + 1, experts));
    for (int64_t e = 0; e < experts; ++e) {
      margins[e].push_back(Load(in.logits, token * experts + e) - alpha);
    }
  }
  const int64_t n = std::max<int64_t>(1, tokens * k / experts);
  std::vector<double> betas;
  for (int64_t e = 0; e < experts; ++e) betas.push_back(NthLargest(margins[e], n));
  return betas;
}

}  // namespace

void Reference_router_stats(const KernelArgs& args) {
  const bool has_bias = ReadBiasTo(args.attrs) == BiasTo::kLogits;
  const size_t weights = has_bias ? 3 : 2;
  const RouterInputs in = {args.in[0], args.in[1], args.in[weights], args.in[weights + 1]};
  const int64_t group_tokens = GroupTokens(in, args.attrs.GetInt("group"));
  const int64_t experts = in.experts();
  std::vector<double> stats(RouterStatSize(experts));
  for (int64_t begin = 0; begin < NumRows(in.logits); begin += group_tokens) {
    const RouterGroup group = SumGroup(in, begin, begin + group_tokens, ReadSigmoid(args.attrs));
    stats[kRouterTokens] += group.tokens;
    stats[kRouterPadding] += static_cast<double>(group_tokens) - group.tokens;
    if (group.tokens == 0) continue;
    stats[kRouterEntropy] += group.sum_entropy;
    if (group.weight != 0) {
      stats[kRouterBalanceLoss] += group.weight * group.BalanceLoss();
      stats[kRouterZLoss] += group.weight * group.ZLoss();
    }
    for (int64_t e = 0; e < experts; ++e) stats[kRouterLoads + e] += group.counts[e];
    if (!has_bias) continue;
    const std::vector<double> betas =
        Betas(in, args.in[2], args.attrs.GetInt("k"), begin, begin + group_tokens,
              static_cast<int64_t>(group.tokens));
    for (int64_t e = 0; e < experts; ++e) {
      stats[RouterBetas(experts) + e] += group.tokens * betas[e];
    }
  }
  StoreAll(args.out[0], stats);
}

}  // namespace trireme
