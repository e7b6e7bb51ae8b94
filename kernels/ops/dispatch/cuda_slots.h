// Which slot holds an assignment, found on the device into the workspace of an op: 4 bytes an
// assignment.
#ifndef TRIREME_KERNELS_OPS_DISPATCH_CUDA_SLOTS_H_
#define TRIREME_KERNELS_OPS_DISPATCH_CUDA_SLOTS_H_

#include "kernels/device/cuda/wide.h"
#include "kernels/ops/dispatch/slots.h"

namespace trireme {

inline constexpr int kSlotThreads = 256;

static __global__ void __launch_bounds__(kSlotThreads)
    ForgetSlots(int32_t* __restrict__ slots, int64_t assignments) {
  for (int64_t i = GridIndex(); i < assignments; i += GridStride()) slots[i] = -1;
}

static __global__ void __launch_bounds__(kSlotThreads)
    NoteSlots(const int32_t* __restrict__ assignments, int64_t count, int32_t* __restrict__ slots) {
  for (int64_t slot = GridIndex(); slot < count; slot += GridStride()) {
    const int32_t assignment = assignments[slot];
    if (assignment >= 0) slots[assignment] = static_cast<int32_t>(slot);
  }
}

// As SlotOfAssignment, in args.workspace.
static const int32_t* FindSlots(const KernelArgs& args, const WaveSource& source,
                                int64_t assignments) {
  CHECK(args.workspace != nullptr) << "no workspace for " << assignments << " slots";
  auto* const slots = static_cast<int32_t*>(args.workspace);
  TRIREME_LAUNCH(args, BlocksFor(assignments, kSlotThreads), kSlotThreads, 0, ForgetSlots, slots,
                 assignments);
  TRIREME_LAUNCH(args, BlocksFor(source.slots, kSlotThreads), kSlotThreads, 0, NoteSlots,
                 source.assignments, source.slots, slots);
  return slots;
}

// A block adds up the rows of one token's choices, in their order, with weights or without.
template <int kWide, bool kWeighted>
__global__ void __launch_bounds__(kSlotThreads)
    SumChoices(const float* __restrict__ rows, const int32_t* __restrict__ slots,
               const float* __restrict__ weights, float* __restrict__ out, int64_t embed, int64_t k,
               bool accumulate) {
  const int64_t first = static_cast<int64_t>(blockIdx.x) * k;
  const int64_t groups = embed / kWide;
  for (int64_t i = threadIdx.x; i < groups; i += kSlotThreads) {
    Wide<float, kWide> sum = {};
    for (int64_t c = first; c < first + k; ++c) {
      const int64_t slot = slots[c];
      if (slot < 0) continue;
      const Wide<float, kWide> row = LoadWide<kWide>(rows, slot * groups + i);
#pragma unroll
      for (int j = 0; j < kWide; ++j) {
        sum.at[j] = kWeighted ? sum.at[j] + weights[c] * row.at[j] : sum.at[j] + row.at[j];
      }
    }
    if (accumulate) {
      const Wide<float, kWide> old = LoadWide<kWide>(out, blockIdx.x * groups + i);
#pragma unroll
      for (int j = 0; j < kWide; ++j) sum.at[j] += old.at[j];
    }
    StoreWide(out, blockIdx.x * groups + i, sum);
  }
}

// out[token] (+)= sum over its k choices of weight (1 where `weights` is null) times the row of
// `wave` that holds it.
template <bool kWeighted>
void LaunchSumChoices(const KernelArgs& args, const Tensor& choices, const float* weights) {
  const Tensor& out = args.out[0];
  const Tensor& rows = args.in[0];
  if (out.count() == 0) return;
  const int64_t embed = out.sizes.back();
  const int64_t k = choices.sizes.back();
  const WaveSource source = SourceOfWave(args.in[1], args.attrs.GetInt("wave"));
  const int32_t* slots = FindSlots(args, source, choices.count());
  const bool is_wide = embed % 4 == 0 && AreAligned16(rows.f32(), out.f32());
  auto* const kernel = is_wide ? SumChoices<4, kWeighted> : SumChoices<1, kWeighted>;
  TRIREME_LAUNCH(args, static_cast<unsigned>(out.count() / embed), kSlotThreads, 0, kernel,
                 rows.f32(), slots, weights, out.f32(), embed, k, args.accumulate);
}

}  // namespace trireme

#endif  // TRIREME_KERNELS_OPS_DISPATCH_CUDA_SLOTS_H_
