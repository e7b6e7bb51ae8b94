// Waits follow from bytes: what reads a result, writes an input or writes a result in flight waits;
// what touches other bytes does not.
#include "common/plan/hazards.h"

#include <gtest/gtest.h>

#include "common/plan/test_program.h"

namespace trireme {
namespace {

class Hazards : public testing::Test {
 protected:
  Hazards() { program_.pools = {{Pool::kScratch, 1024, 1}}; }

  // Floats [from, from + n) of SCRATCH.
  static ResolvedOperand At(int64_t from, int64_t n) {
    return {Pool::kScratch, from * 4, {n}, {1}, DType::kFloat32};
  }
  void Add(const Instruction& source, ResolvedOperand in, ResolvedOperand out) {
    list_.push_back({&source, {}, {std::move(in)}, {std::move(out)}, {}});
  }

  StageProgram program_;
  Instruction kernel_{.op = "copy"};
  Instruction gather_{.op = "all_gather", .async = true};
  Instruction reduce_{.op = "all_reduce"};
  std::vector<ResolvedInstruction> list_;
};

TEST_F(Hazards, ReadersWaitOthersDoNot) {
  Add(gather_, At(0, 4), At(8, 8));
  Add(kernel_, At(0, 4), At(32, 4));   // reads what it reads
  Add(kernel_, At(32, 4), At(36, 4));  // elsewhere
  Add(kernel_, At(15, 1), At(40, 1));  // last element of the result
  Add(kernel_, At(8, 8), At(48, 8));   // already over
  EXPECT_EQ(FindWaits(program_, list_), (std::vector<int32_t>{0, 0, 0, 1, 0}));
}

TEST_F(Hazards, WritersOfInputsAndResultsWait) {
  Add(gather_, At(0, 4), At(8, 8));
  Add(gather_, At(16, 4), At(24, 8));
  Add(kernel_, At(64, 1), At(3, 1));
  Add(kernel_, At(64, 1), At(31, 1));
  EXPECT_EQ(FindWaits(program_, list_), (std::vector<int32_t>{0, 0, 1, 2}));
}

// A predicate is read.
TEST_F(Hazards, PredicatesWaitForWhatMakesThem) {
  Add(gather_, At(0, 4), At(8, 8));
  Add(kernel_, At(64, 1), At(65, 1));
  list_.back().predicate = {At(9, 1)};
  EXPECT_EQ(FindWaits(program_, list_), (std::vector<int32_t>{0, 1}));
}

TEST_F(Hazards, ACollectiveInLineWaitsForAll) {
  Add(gather_, At(0, 4), At(8, 8));
  Add(gather_, At(16, 4), At(24, 8));
  Add(reduce_, At(64, 1), At(64, 1));
  EXPECT_EQ(FindWaits(program_, list_), (std::vector<int32_t>{0, 0, 2}));
}

TEST_F(Hazards, StridedViewsCountWhole) {
  Add(gather_, At(0, 4), At(8, 8));
  list_.push_back(
      {&kernel_, {}, {{Pool::kScratch, 0, {2, 1}, {12, 1}, DType::kFloat32}}, {At(64, 2)}, {}});
  EXPECT_EQ(FindWaits(program_, list_), (std::vector<int32_t>{0, 1}));
}

}  // namespace
}  // namespace trireme
