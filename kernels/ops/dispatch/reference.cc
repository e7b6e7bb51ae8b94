// One sweep over assignments in flat (token, choice) order: each takes its expert's next free slot,
// or is dropped.
#include <algorithm>

#include "kernels/ops/kernel.h"
#include "kernels/ops/reference_util.h"

namespace trireme {

void Reference_dispatch(const KernelArgs& args) {
  const Tensor& x = args.in[0];
  const Tensor& ids = args.in[1];
  const Tensor& rows = args.out[0];
  const int64_t num_local_experts = rows.size(0);
  const int64_t capacity = rows.size(1);
  const int64_t embed = rows.size(2);
  const int64_t k = LastSize(ids);
  const int64_t expert_start = args.attrs.GetInt("expert_start", 0);

  std::vector<double> index(num_local_experts * capacity, -1);
  std::vector<int64_t> used(num_local_experts);
  for (int64_t i = 0; i < ids.count(); ++i) {
    const int64_t expert = static_cast<int64_t>(Load(ids, i)) - expert_start;
    if (expert < 0 || expert >= num_local_experts || used[expert] == capacity) continue;
    index[expert * capacity + used[expert]++] = static_cast<double>(i);
  }
  StoreAll(args.out[1], index);
  for (int64_t slot = 0; slot < num_local_experts * capacity; ++slot) {
    const int64_t token = static_cast<int64_t>(index[slot]) / k;
    for (int64_t e = 0; e < embed; ++e) {
      Store(rows, slot * embed + e, index[slot] < 0 ? 0.0 : Load(x, token * embed + e));
    }
  }
}

}  // namespace trireme
