// Times by hand: kernels of one second beside transfers of given lengths.
#include "coordinator/planner/phase_time.h"

#include <gtest/gtest.h>

namespace trireme {
namespace {

// Kernels take a second for each 1e9 flops and nothing else.
class PhaseTime : public testing::Test {
 protected:
  PhaseTime() { program_.pools = {{Pool::kScratch, 1024, 1}}; }

  // Floats [from, from + n) of SCRATCH.
  static ResolvedOperand At(int64_t from, int64_t n) {
    return {Pool::kScratch, from * 4, {n}, {1}, DType::kFloat32};
  }
  void Add(const Instruction& source, ResolvedOperand in, ResolvedOperand out) {
    list_.push_back({&source, {}, {std::move(in)}, {std::move(out)}, {}});
  }
  PhasePrediction Predict() {
    return PredictPhase(program_, list_, {.flops = 1e9},
                        [this](const Instruction& one) { return seconds_.at(&one); });
  }

  StageProgram program_;
  Instruction kernel_{.op = "copy", .flops = 1e9};
  Instruction gather_{.op = "all_gather", .async = true};
  Instruction permute_{.op = "permute", .async = true};
  Instruction reduce_{.op = "all_reduce"};
  std::map<const Instruction*, double> seconds_ = {{&gather_, 1.5}, {&permute_, 3}, {&reduce_, 2}};
  std::vector<ResolvedInstruction> list_;
};

TEST_F(PhaseTime, AGatherBesideTwoKernelsIsHidden) {
  Add(gather_, At(0, 4), At(8, 8));
  Add(kernel_, At(32, 4), At(36, 4));
  Add(kernel_, At(36, 4), At(40, 4));
  Add(kernel_, At(8, 8), At(48, 8));  // what was gathered
  const PhasePrediction phase = Predict();
  EXPECT_DOUBLE_EQ(phase.total_s, 3);
  EXPECT_DOUBLE_EQ(phase.compute_s, 3);
  EXPECT_DOUBLE_EQ(phase.collectives.at(&gather_).hidden_s, 1.5);
  EXPECT_DOUBLE_EQ(phase.collectives.at(&gather_).exposed_s, 0);
}

TEST_F(PhaseTime, WhatTheKernelsDoNotCoverIsExposed) {
  seconds_[&gather_] = 2.5;
  Add(gather_, At(0, 4), At(8, 8));
  Add(kernel_, At(32, 4), At(36, 4));
  Add(kernel_, At(36, 4), At(40, 4));
  Add(kernel_, At(8, 8), At(48, 8));
  const PhasePrediction phase = Predict();
  EXPECT_DOUBLE_EQ(phase.total_s, 3.5);
  EXPECT_DOUBLE_EQ(phase.compute_s, 3);
  EXPECT_DOUBLE_EQ(phase.collectives.at(&gather_).hidden_s, 2);
  EXPECT_DOUBLE_EQ(phase.collectives.at(&gather_).exposed_s, 0.5);
}

TEST_F(PhaseTime, ACollectiveInLineIsExposed) {
  Add(kernel_, At(0, 4), At(8, 4));
  Add(reduce_, At(8, 4), At(8, 4));
  Add(kernel_, At(32, 4), At(36, 4));
  const PhasePrediction phase = Predict();
  EXPECT_DOUBLE_EQ(phase.total_s, 4);
  EXPECT_DOUBLE_EQ(phase.collectives.at(&reduce_).exposed_s, 2);
  EXPECT_DOUBLE_EQ(phase.collectives.at(&reduce_).hidden_s, 0);
}

// The gather travels from 0 to 1.5, the permute from 1.5 to 4.5. The rank computes until 1 and then
// stands: half a second for the gather, three for the permute.
TEST_F(PhaseTime, TransfersFollowEachOther) {
  Add(gather_, At(0, 4), At(8, 8));
  Add(permute_, At(0, 4), At(16, 4));
  Add(kernel_, At(32, 4), At(36, 4));
  Add(kernel_, At(16, 4), At(48, 4));  // what was permuted
  const PhasePrediction phase = Predict();
  EXPECT_DOUBLE_EQ(phase.total_s, 5.5);
  EXPECT_DOUBLE_EQ(phase.collectives.at(&gather_).hidden_s, 1);
  EXPECT_DOUBLE_EQ(phase.collectives.at(&gather_).exposed_s, 0.5);
  EXPECT_DOUBLE_EQ(phase.collectives.at(&permute_).hidden_s, 0);
  EXPECT_DOUBLE_EQ(phase.collectives.at(&permute_).exposed_s, 3);
}

// One in line waits for those under way; what nobody waits for is over at the end of the phase.
TEST_F(PhaseTime, AllAreOverBeforeOneInLineAndAtTheEnd) {
  Add(gather_, At(0, 4), At(8, 8));
  Add(reduce_, At(64, 4), At(64, 4));
  Add(permute_, At(0, 4), At(16, 4));
  Add(kernel_, At(32, 4), At(36, 4));
  const PhasePrediction phase = Predict();
  EXPECT_DOUBLE_EQ(phase.total_s, 1.5 + 2 + 3);
  EXPECT_DOUBLE_EQ(phase.compute_s, 1);
  EXPECT_DOUBLE_EQ(phase.collectives.at(&gather_).exposed_s, 1.5);
  EXPECT_DOUBLE_EQ(phase.collectives.at(&permute_).hidden_s, 1);
  EXPECT_DOUBLE_EQ(phase.collectives.at(&permute_).exposed_s, 2);
}

TEST_F(PhaseTime, ExecutionsOfOneInstructionAddUp) {
  Add(gather_, At(0, 4), At(8, 8));
  Add(kernel_, At(8, 8), At(32, 8));
  Add(gather_, At(0, 4), At(16, 8));
  Add(kernel_, At(40, 4), At(44, 4));
  const PhasePrediction phase = Predict();
  EXPECT_DOUBLE_EQ(phase.total_s, 1.5 + 1 + 1.5);
  EXPECT_DOUBLE_EQ(phase.collectives.at(&gather_).exposed_s, 1.5 + 0.5);
  EXPECT_DOUBLE_EQ(phase.collectives.at(&gather_).hidden_s, 1);
}

TEST_F(PhaseTime, AKernelTakesProductsOrMemoryAndItsLaunch) {
  Add(kernel_, At(0, 10), At(16, 10));  // 80 bytes
  const auto seconds = [&](const DeviceKind& device) { return KernelSeconds(list_[0], device); };
  EXPECT_DOUBLE_EQ(seconds({.flops = 1e9, .bytes_per_s = 100, .launch_s = 0.25}), 1.25);
  EXPECT_DOUBLE_EQ(seconds({.flops = 1e9, .bytes_per_s = 40, .launch_s = 0.25}), 2.25);
  EXPECT_DOUBLE_EQ(seconds({}), 0) << "a device without speeds costs nothing";
  kernel_.accumulate = true;  // reads what it adds to
  EXPECT_DOUBLE_EQ(seconds({.bytes_per_s = 40}), 3);
}

TEST_F(PhaseTime, ALookupTouchesRowsNotTheTable) {
  Instruction lookup{.op = "embed_lookup"};
  list_.push_back({&lookup, {}, {At(0, 2), At(2, 200)}, {At(208, 8)}, {}});
  EXPECT_DOUBLE_EQ(KernelSeconds(list_[0], {.bytes_per_s = 1}), 2 * 8 * 4);
  Instruction grad{.op = "embed_grad", .accumulate = true};
  list_.push_back({&grad, {}, {At(0, 2), At(208, 8)}, {At(2, 200)}, {}});
  EXPECT_DOUBLE_EQ(KernelSeconds(list_[1], {.bytes_per_s = 1}), 3 * 8 * 4);
}

}  // namespace
}  // namespace trireme
