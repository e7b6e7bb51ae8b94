// Rows are copied whole.
#include <cstring>

#include "kernels/device/cpu_util.h"
#include "kernels/device/parallel.h"
#include "kernels/ops/kernel.h"

namespace trireme {

void Reference_embed_lookup(const KernelArgs& args);

void Cpu_embed_lookup(const KernelArgs& args) {
  if (!AreFloat32(args.in, {0})) return Reference_embed_lookup(args);
  const float* table = args.in[0].f32();
  const int32_t* ids = args.in[1].i32();
  float* y = args.out[0].f32();
  const int64_t vocab = args.in[0].size(0);
  const int64_t embed = args.in[0].size(1);
  const int64_t start = args.attrs.GetInt("vocab_start", 0);
  ParallelRows(args.stream, args.in[1].count(), embed, [&](int64_t token) {
    const int64_t row = ids[token] - start;
    if (row >= 0 && row < vocab) {
      std::memcpy(y + token * embed, table + row * embed, embed * sizeof(float));
    } else {
      std::memset(y + token * embed, 0, embed * sizeof(float));
    }
  });
}

}  // namespace trireme
