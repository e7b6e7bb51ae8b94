// One block a slot: its token's row of dy times its weight. Bounded by the 8 bytes an element
// moved.
#include "kernels/device/cuda/wide.h"
#include "kernels/ops/dispatch/slots.h"

namespace trireme {
namespace {

constexpr int kThreads = 256;

template <int kWide>
__global__ void __launch_bounds__(kThreads)
    CombineGrad(const float* __restrict__ dy, const int32_t* __restrict__ assignments,
                const float* __restrict__ weights, float* __restrict__ drows, int64_t embed,
                int64_t k) {
  const int64_t assignment = assignments[blockIdx.x];
  const int64_t groups = embed / kWide;
  const float weight = assignment >= 0 ? weights[assignment] : 0.0f;
  const int64_t token = assignment / k;
  for (int64_t i = threadIdx.x; i < groups; i += kThreads) {
    Wide<float, kWide> value = {};
    if (assignment >= 0) value = LoadWide<kWide>(dy, token * groups + i);
#pragma unroll
    for (int j = 0; j < kWide; ++j) value.at[j] *= weight;
    StoreWide(drows, blockIdx.x * groups + i, value);
  }
}

}  // namespace

void Cuda_combine_grad(const KernelArgs& args) {
  const Tensor& dy = args.in[0];
  if (args.out[0].count() == 0) return;
  const int64_t embed = dy.sizes.back();
  const WaveSource source = SourceOfWave(args.in[1], args.attrs.GetInt("wave"));
  const bool is_wide = embed % 4 == 0 && AreAligned16(dy.f32(), args.out[0].f32());
  auto* const kernel = is_wide ? CombineGrad<4> : CombineGrad<1>;
  TRIREME_LAUNCH(args, static_cast<unsigned>(source.slots), kThreads, 0, kernel, dy.f32(),
                 source.assignments, args.in[2].f32(), args.out[0].f32(), embed,
                 args.in[2].sizes.back());
}

}  // namespace trireme
