// Sums over leading or trailing dims, into another type, in every split.
#include <gtest/gtest.h>

#include "kernels/testing/op_case.h"

namespace trireme {
namespace {

OpCase SumCase(int64_t batch, int64_t embed, const std::string& keep) {
  return {.op = "reduce_sum",
          .attrs = {{"keep", keep}},
          .inputs = {Normal({{"batch", batch}, {"position", 3}, {"embed", embed}})}};
}

TEST(ReduceSum, CpuMatchesReferenceAndEverySplitGivesTheSame) {
  for (const std::string keep : {"", "embed", "position,embed", "batch,position,embed"}) {
    CheckCpuMatchesReference(SumCase(5, 7, keep), 1e-5);
    CheckCpuMatchesReference(SumCase(33, 70, keep), 1e-5);
    CheckEverySharding(SumCase(6, 4, keep));
  }
}

// Kept are the first dims.
OpCase LeadingCase(int64_t batch, int64_t embed, const std::string& keep) {
  OpCase c = SumCase(batch, embed, keep);
  c.attrs.Set("leading", int64_t{1});
  return c;
}

TEST(ReduceSum, SumsOverTheLastDimsWhenLeading) {
  OpCase c = LeadingCase(1, 1, "n");
  c.inputs = {Given({{"n", 2}, {"m", 3}}, DType::kFloat32, {1, 2, 3, 4, 5, 6})};
  for (const bool cpu : {false, true}) {
    const HostTensor out = RunOp(c, MakeInputs(c), {.cpu = cpu})[0];
    EXPECT_EQ(out.Values(), std::vector<double>({6, 15})) << cpu;
  }
  for (const std::string keep : {"", "batch", "batch,position", "batch,position,embed"}) {
    CheckCpuMatchesReference(LeadingCase(5, 7, keep), 1e-5);
    CheckCpuMatchesReference(LeadingCase(33, 70, keep), 1e-5);
    CheckEverySharding(LeadingCase(6, 4, keep));
  }
  ExpectInferError(LeadingCase(2, 3, "embed"), "cannot keep 'embed': name its first dims");
}

TEST(ReduceSum, SumsIntoTheTypeAskedFor) {
  OpCase c = SumCase(1, 1, "");
  c.attrs.Set("dtype", std::string("float64"));
  c.inputs = {Given({{"n", 3}}, DType::kFloat32, {16777216, 1, 1})};  // 2^24: float32 would lose 1
  const std::vector<HostTensor> outputs = RunOp(c, MakeInputs(c));
  EXPECT_EQ(outputs[0].dtype(), DType::kFloat64);
  EXPECT_EQ(outputs[0].Get(0), 16777218);
  CheckCpuMatchesReference(c, 0);
}

TEST(ReduceSum, RefusesToKeepOtherThanLastDims) {
  ExpectInferError(SumCase(2, 3, "position"), "cannot keep 'position'");
  ExpectInferError(SumCase(2, 3, "embed,position"), "name its last dims, in order");
  OpCase c = SumCase(2, 3, "");
  c.attrs.Set("dtype", std::string("int32"));
  ExpectInferError(c, "dtype must be float32 or float64");
}

}  // namespace
}  // namespace trireme
