// With c_e = E load_e and a token's probabilities p:
//   dz_f = dloss w_g / T_g (balance p_f (c_f - sum_e c_e p_e) [* (1 - sigmoid_f)]
//                           + z 2 lse softmax_f)
#include <cmath>

#include "kernels/ops/kernel.h"
#include "kernels/ops/route/routing.h"
#include "kernels/ops/router_loss/reference_groups.h"

namespace trireme {

void Reference_router_loss_grad(const KernelArgs& args) {
  const RouterInputs in = {args.in[1], args.in[2], args.in[3], args.in[4]};
  const bool sigmoid = ReadSigmoid(args.attrs);
  const double balance = args.attrs.GetDouble("balance");
  const double z_weight = args.attrs.GetDouble("z");
  const int64_t group_tokens = GroupTokens(in, args.attrs.GetInt("group"));
  const int64_t experts = in.experts();
  std::vector<double> dlogits(args.out[0].count());
  for (int64_t begin = 0; begin < NumRows(in.logits); begin += group_tokens) {
    const RouterGroup group = SumGroup(in, begin, begin + group_tokens, sigmoid);
    if (group.weight == 0) continue;
    const double factor = Load(args.in[0], 0) * group.weight / group.tokens;
    const double load_factor = static_cast<double>(experts) / group.assignments;
    for (int64_t token = begin; token < begin + group_tokens; ++token) {
      if (!in.IsValid(token)) continue;
      const TokenRouting t = RouteToken(in, token, sigmoid);
      double mean = 0;
      for (int64_t e = 0; e < experts; ++e) mean += load_factor * group.counts[e] * t.p[e];
      for (int64_t e = 0; e < experts; ++e) {
        double d = balance * t.p[e] * (load_factor * group.counts[e] - mean);
        if (sigmoid) d *= 1 - 1 / (1 + std::exp(-t.z[e]));
        dlogits[token * experts + e] = factor * (d + z_weight * 2 * t.lse * t.softmax[e]);
      }
    }
  }
  StoreAll(args.out[0], dlogits);
}

}  // namespace trireme
