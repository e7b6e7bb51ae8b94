// loss = sum over groups of w_g (balance * balance loss + z * z-loss).
#include "kernels/ops/kernel.h"
#include "kernels/ops/route/routing.h"
#include "kernels/ops/router_loss/reference_groups.h"

namespace trireme {

void Reference_router_loss(const KernelArgs& args) {
  const RouterInputs in = {args.in[0], args.in[1], args.in[2], args.in[3]};
  const int64_t group_tokens = GroupTokens(in, args.attrs.GetInt("group"));
  double loss = 0;
  for (int64_t begin = 0; begin < NumRows(in.logits); begin += group_tokens) {
    const RouterGroup group = SumGroup(in, begin, begin + group_tokens, ReadSigmoid(args.attrs));
    if (group.weight == 0) continue;
    loss += group.weight * (args.attrs.GetDouble("balance") * group.BalanceLoss() +
                            args.attrs.GetDouble("z") * group.ZLoss());
  }
  Store(args.out[0], 0, loss);
}

}  // namespace trireme
