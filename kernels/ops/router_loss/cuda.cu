// The sums of cuda_groups.h, then one block adds up the groups.
#include "kernels/ops/router_loss/cuda_groups.h"

namespace trireme {
namespace {

__global__ void __launch_bounds__(kRowThreads)
    AddGroups(RouterOperands in, const double* __restrict__ records, double balance, double z,
              double* __restrict__ out) {
  __shared__ double shared[kRowWarps];
  double loss = 0;
  for (int64_t g = threadIdx.x; g < in.groups; g += kRowThreads) {
    const double* group = in.Group(records, g);
    if (group[kSumWeight] == 0) continue;
    loss += group[kSumWeight] * (balance * group[kGroupBalance] + z * group[kGroupZ]);
  }
  loss = BlockSum(loss, shared);
  if (threadIdx.x == 0) *out = loss;
}

}  // namespace

void Cuda_router_loss(const KernelArgs& args) {
  const RouterOperands in = MakeRouterOperands(args, 0, 2);
  const double* records = SumRouter<true>(args, in);
  TRIREME_LAUNCH(args, 1, kRowThreads, 0, AddGroups, in, records, args.attrs.GetDouble("balance"),
                 args.attrs.GetDouble("z"), args.out[0].f64());
}

}  // namespace trireme
