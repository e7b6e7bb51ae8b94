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
  const std::vector<int64_t> slots = SlotOfAssignment(args.in[1], assignments);
  ParallelRows(args.stream, assignments / choices, embed * choices, [&](int64_t token) {
    float* out = dx + token * embed;
    std::fill_n(out, embed, 0.0f);
    for (int64_t c = 0; c < choices; ++c) {
      const int64_t slot = slots[token * choices + c];
      if (slot >= 0) RunSimd<AddInto>(drows + slot * embed, out, embed);
    }
  });
}

}  // namespace trireme
