// One block a slot copies its token's row. Bounded by the 8 bytes an element moved.
#include "kernels/device/cuda/wide.h"
#include "kernels/ops/dispatch/slots.h"

namespace trireme {
namespace {

constexpr int kThreads = 256;

template <int kWide>
__global__ void __launch_bounds__(kThreads)
    Dispatch(const float* __restrict__ x, const int32_t* __restrict__ assignments,
             float* __restrict__ rows, int64_t embed, int64_t choices) {
  const int64_t assignment = assignments[blockIdx.x];
  const int64_t groups = embed / kWide;
  const int64_t token = assignment / choices;
  for (int64_t i = threadIdx.x; i < groups; i += kThreads) {
    Wide<float, kWide> value = {};
    if (assignment >= 0) value = LoadWide<kWide>(x, token * groups + i);
    StoreWide(rows, blockIdx.x * groups + i, value);
  }
}

}  // namespace

void Cuda_dispatch(const KernelArgs& args) {
  const Tensor& x = args.in[0];
  if (args.out[0].count() == 0) return;
  const int64_t embed = x.sizes.back();
  const WaveSource source = SourceOfWave(args.in[1], args.attrs.GetInt("wave"));
  const bool is_wide = embed % 4 == 0 && AreAligned16(x.f32(), args.out[0].f32());
  auto* const kernel = is_wide ? Dispatch<4> : Dispatch<1>;
  TRIREME_LAUNCH(args, static_cast<unsigned>(source.slots), kThreads, 0, kernel, x.f32(),
                 source.assignments, args.out[0].f32(), embed, args.attrs.GetInt("choices"));
}

}  // namespace trireme
