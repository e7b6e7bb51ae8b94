// Each token gathers its rows in choice order.
#include <algorithm>
#include <vector>

#include "kernels/device/cpu_util.h"
#include "kernels/device/row_chunks.h"
#include "kernels/ops/dispatch/slots.h"
#include "kernels/ops/kernel.h"

namespace trireme {

void Reference_dispatch_grad(const KernelArgs& args);

void Cpu_dispatch_grad(const KernelArgs& args) {
  if (!AreFloat32(args.in, {0})) return Reference_dispatch_grad(args);
  const float* drows = args.in[0].f32();
  float* dx = args.out[0].f32();
  const int64_t embed = args.in[0].sizes.back();
  const int64_t choices = args.in[2].sizes.back();
  const int64_t assignments = args.in[2].count();
  const std::vector<int32_t> slots =
      SlotOfAssignment(SourceOfWave(args.in[1], args.attrs.GetInt("wave")), assignments);
  ParallelRows(args.stream, assignments / choices, embed * choices, [&](int64_t token) {
    float* out = dx + token * embed;
    if (!args.accumulate) std::fill_n(out, embed, 0.0f);
    for (int64_t i = token * choices; i < (token + 1) * choices; ++i) {
      if (slots[i] >= 0) RunSimd<AddInto>(drows + slots[i] * embed, out, embed);
    }
  });
}

}  // namespace trireme
