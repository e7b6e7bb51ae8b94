// Where each number of a step stands in its two float64 scalar blocks.
#ifndef TRIREME_KERNELS_OPS_STEP_CONTROL_LAYOUT_H_
#define TRIREME_KERNELS_OPS_STEP_CONTROL_LAYOUT_H_

namespace trireme {

// control: kept from step to step, the same on every rank.
inline constexpr int kControlSize = 16;
inline constexpr int kControlStep = 0;         // step index; the host sets it
inline constexpr int kControlAppliedStep = 1;  // steps whose update was applied
inline constexpr int kControlLoss = 2;         // mean loss of a unit of weight
inline constexpr int kControlGradNorm = 3;     // of the mean loss, before clipping
inline constexpr int kControlLearningRate = 4;
inline constexpr int kControlGradScale =
    5;  // token correction times clip: the optimizer multiplies by it
inline constexpr int kControlBiasCorrection1 = 6;  // 1 - beta1^t
inline constexpr int kControlBiasCorrection2 = 7;  // 1 - beta2^t
inline constexpr int kControlApply = 8;   // 1: update, 0: leave parameters and states as they are
inline constexpr int kControlWeight = 9;  // sum of the batch's weights

// reduce: one step's sums over all ranks.
inline constexpr int kReduceSize = 4;
inline constexpr int kReduceLossSum = 0;
inline constexpr int kReduceWeightSum = 1;
inline constexpr int kReduceGradSumSquares = 2;
inline constexpr int kReduceNonFinite = 3;

}  // namespace trireme

#endif  // TRIREME_KERNELS_OPS_STEP_CONTROL_LAYOUT_H_
