// One block an id copies its row. Bounded by the 8 bytes an element moved.
#include "kernels/device/cuda/wide.h"

namespace trireme {
namespace {

constexpr int kThreads = 256;

template <int kWide>
__global__ void __launch_bounds__(kThreads)
    Lookup(const float* __restrict__ table, const int32_t* __restrict__ ids, float* __restrict__ y,
           int64_t first_row, int64_t rows, int64_t width) {
  const int64_t row = ids[blockIdx.x] - first_row;
  const bool is_here = row >= 0 && row < rows;
  const int64_t groups = width / kWide;
  for (int64_t i = threadIdx.x; i < groups; i += kThreads) {
    Wide<float, kWide> value = {};
    if (is_here) value = LoadWide<kWide>(table, row * groups + i);
    StoreWide(y, blockIdx.x * groups + i, value);
  }
}

}  // namespace

void Cuda_embed_lookup(const KernelArgs& args) {
  const Tensor& table = args.in[0];
  const Tensor& ids = args.in[1];
  const int64_t width = table.size(1);
  if (ids.count() == 0 || width == 0) return;
  const bool is_wide = width % 4 == 0 && AreAligned16(table.f32(), args.out[0].f32());
  auto* const kernel = is_wide ? Lookup<4> : Lookup<1>;
  TRIREME_LAUNCH(args, static_cast<unsigned>(ids.count()), kThreads, 0, kernel, table.f32(),
                 ids.i32(), args.out[0].f32(), args.attrs.GetInt("vocab_start", 0), table.size(0),
                 width);
}

}  // namespace trireme
