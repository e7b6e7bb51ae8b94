// Threads share the columns, not the tokens: every element is summed in token order by one thread.
#include <algorithm>

#include "kernels/device/cpu_util.h"
#include "kernels/device/parallel.h"
#include "kernels/device/row_chunks.h"
#include "kernels/ops/kernel.h"

namespace trireme {

void Reference_embed_grad(const KernelArgs& args);

void Cpu_embed_grad(const KernelArgs& args) {
  if (!AreFloat32(args.in, {0}) || !AreFloat32(args.out, {0})) return Reference_embed_grad(args);
  const float* dy = args.in[0].f32();
  const int32_t* ids = args.in[1].i32();
  float* dtable = args.out[0].f32();
  const int64_t tokens = args.in[1].count();
  const int64_t vocab = args.out[0].size(0);
  const int64_t embed = args.out[0].size(1);
  const int64_t start = args.attrs.GetInt("vocab_start", 0);
  if (!args.accumulate) {
    ParallelFor(args.stream, vocab * embed, 8 * kGrainElements,
                [&](int64_t i, int64_t end) { std::fill(dtable + i, dtable + end, 0.0f); });
  }
  constexpr int64_t kColumns = 64;
  const int64_t grain = tokens * embed < kGrainElements ? embed : kColumns;
  ParallelFor(args.stream, embed, grain, [&](int64_t column, int64_t end) {
    for (int64_t token = 0; token < tokens; ++token) {
      const int64_t row = ids[token] - start;
      if (row < 0 || row >= vocab) continue;
      RunSimd<AddInto>(dy + token * embed + column, dtable + row * embed + column, end - column);
    }
  });
}

}  // namespace trireme
