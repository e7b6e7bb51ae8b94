// Rows are copied by all threads.
#include <cstring>

#include "kernels/device/cpu_util.h"
#include "kernels/device/parallel.h"
#include "kernels/ops/dispatch/slots.h"
#include "kernels/ops/kernel.h"

namespace trireme {

void Reference_dispatch(const KernelArgs& args);

void Cpu_dispatch(const KernelArgs& args) {
  if (!AreFloat32(args.in, {0})) return Reference_dispatch(args);
  const float* x = args.in[0].f32();
  float* rows = args.out[0].f32();
  const int64_t embed = args.in[0].sizes.back();
  const int64_t choices = args.attrs.GetInt("choices");
  const WaveSource source = SourceOfWave(args.in[1], args.attrs.GetInt("wave"));
  ParallelRows(args.stream, source.slots, embed, [&](int64_t slot) {
    const int64_t assignment = source.assignments[slot];
    float* row = rows + slot * embed;
    if (assignment < 0) {
      std::memset(row, 0, embed * sizeof(float));
    } else {
      std::memcpy(row, x + assignment / choices * embed, embed * sizeof(float));
    }
  });
}

}  // namespace trireme
