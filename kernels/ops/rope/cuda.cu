// One block a position: its angles once, in double as far as the number of turns, which is then
// exact for any position, then all heads. Bounded by the 8 bytes an element moved.
#include <cmath>

#include "kernels/device/cuda/wide.h"

namespace trireme {
namespace {

constexpr int kThreads = 256;

struct Rope {
  double log2_theta;
  float sign;  // -1: the other way round
  int heads;
  int size;  // of a head
  int half;  // of what is turned
};

template <int kWide>
__global__ void __launch_bounds__(kThreads)
    Rotate(const float* __restrict__ x, const int32_t* __restrict__ positions,
           float* __restrict__ y, Rope rope) {
  TRIREME_DYNAMIC_SHARED(float, cosines);
  float* const sines = cosines + rope.half;
  constexpr double kTurnsPerRadian = 0.15915494309189535;
  const double position = positions[blockIdx.x];
  for (int i = threadIdx.x; i < rope.half; i += kThreads) {
    const double exponent = -static_cast<double>(i) / rope.half * rope.log2_theta;
    const double turns = position * (exp2(exponent) * kTurnsPerRadian);
    sincospif(static_cast<float>(2 * (turns - rint(turns))), sines + i, cosines + i);
    sines[i] *= rope.sign;
  }
  __syncthreads();
  const int64_t row = static_cast<int64_t>(blockIdx.x) * rope.heads * rope.size;
  const int groups = rope.half / kWide;
  for (int i = threadIdx.x; i < rope.heads * groups; i += kThreads) {
    const int64_t low = (row + i / groups * rope.size) / kWide + i % groups;
    const Wide<float, kWide> a = LoadWide<kWide>(x, low);
    const Wide<float, kWide> b = LoadWide<kWide>(x, low + groups);
    const Wide<float, kWide> c = LoadWide<kWide>(cosines, i % groups);
    const Wide<float, kWide> s = LoadWide<kWide>(sines, i % groups);
    Wide<float, kWide> turned_a, turned_b;
#pragma unroll
    for (int j = 0; j < kWide; ++j) {
      turned_a.at[j] = a.at[j] * c.at[j] - b.at[j] * s.at[j];
      turned_b.at[j] = b.at[j] * c.at[j] + a.at[j] * s.at[j];
    }
    StoreWide(y, low, turned_a);
    StoreWide(y, low + groups, turned_b);
  }
  const int rest = rope.size - 2 * rope.half;
  for (int i = threadIdx.x; i < rope.heads * rest; i += kThreads) {
    const int64_t at = row + i / rest * rope.size + 2 * rope.half + i % rest;
    y[at] = x[at];
  }
}

}  // namespace

void Cuda_rope(const KernelArgs& args) {
  const Tensor& x = args.in[0];
  if (x.count() == 0) return;
  const int64_t size = x.size(3);
  const int64_t half = args.attrs.GetInt("rotary_dim", size) / 2;
  const Rope rope = {std::log2(args.attrs.GetDouble("theta")),
                     args.attrs.GetInt("inverse", 0) != 0 ? -1.0f : 1.0f,
                     static_cast<int>(x.size(2)), static_cast<int>(size), static_cast<int>(half)};
  const size_t shared = static_cast<size_t>(2 * half) * sizeof(float);
  CHECK(shared <= 48 * 1024) << "rotary_dim=" << 2 * half << " is more than the GPU kernel's 12288";
  const bool is_wide = size % 4 == 0 && half % 4 == 0 && AreAligned16(x.f32(), args.out[0].f32());
  auto* const kernel = is_wide ? Rotate<4> : Rotate<1>;
  TRIREME_LAUNCH(args, static_cast<unsigned>(args.in[1].count()), kThreads, shared, kernel, x.f32(),
                 args.in[1].i32(), args.out[0].f32(), rope);
}

}  // namespace trireme
