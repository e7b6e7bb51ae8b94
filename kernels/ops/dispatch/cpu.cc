// The sweep over assignments is serial (it is the definition of the order); rows are copied by all
// threads.
#include <algorithm>
#include <cstring>
#include <vector>

#include "kernels/device/cpu_util.h"
#include "kernels/device/parallel.h"
#include "kernels/ops/kernel.h"

namespace trireme {

void Reference_dispatch(const KernelArgs& args);

void Cpu_dispatch(const KernelArgs& args) {
  if (!AreFloat32(args.in, {0})) return Reference_dispatch(args);
  const float* x = args.in[0].f32();
  const int32_t* ids = args.in[1].i32();
  const int64_t choices = args.in[1].sizes.back();
  float* rows = args.out[0].f32();
  int32_t* index = args.out[1].i32();
  const int64_t experts = args.out[0].size(0);
  const int64_t capacity = args.out[0].size(1);
  const int64_t embed = args.out[0].size(2);
  const int64_t expert_start = args.attrs.GetInt("expert_start", 0);

  std::fill_n(index, experts * capacity, -1);
  std::vector<int64_t> used(experts);
  for (int64_t i = 0; i < args.in[1].count(); ++i) {
    const int64_t expert = ids[i] - expert_start;
    if (expert < 0 || expert >= experts || used[expert] == capacity) continue;
    index[expert * capacity + used[expert]++] = static_cast<int32_t>(i);
  }
  ParallelRows(args.stream, experts * capacity, embed, [&](int64_t slot) {
    float* row = rows + slot * embed;
    if (index[slot] < 0) {
      std::memset(row, 0, embed * sizeof(float));
    } else {
      std::memcpy(row, x + index[slot] / choices * embed, embed * sizeof(float));
    }
  });
}

}  // namespace trireme
