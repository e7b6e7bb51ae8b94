// The owner's numbers, others' zero.
#include <gtest/gtest.h>

#include "kernels/testing/op_case.h"

namespace trireme {
namespace {

TEST(Contribute, GivesTheOwnersValueOnce) {
  OpCase c = {.op = "contribute", .inputs = {Given({}, DType::kFloat64, {2.5})}};
  double sum = 0;
  for (int64_t owner : {0, 1, 2}) {
    c.attrs.Set("owner", owner);
    sum += RunOp(c, MakeInputs(c))[0].Get(0);
    CheckCpuMatchesReference(c, 0);
  }
  EXPECT_EQ(sum, 2.5);
}

TEST(Contribute, TakesAnyDimsElementByElement) {
  OpCase c = {.op = "contribute",
              .inputs = {Normal({{"router_stat", 6}, {"batch", 2}}, DType::kFloat64)}};
  CheckCpuMatchesReference(c, 0);
  CheckEverySharding(c);
  EXPECT_EQ(RunOp(c, MakeInputs(c))[0].Values(), MakeInputs(c)[0].Values());
  c.attrs.Set("owner", int64_t{1});
  EXPECT_EQ(RunOp(c, MakeInputs(c))[0].Values(), std::vector<double>(12, 0.0));
}

TEST(Contribute, AddsWhenAccumulating) {
  const OpCase c = {.op = "contribute", .inputs = {Given({}, DType::kFloat64, {2.5})}};
  std::vector<HostTensor> outputs = {HostTensor(DType::kFloat64, {})};
  outputs[0].Set(0, 1.0);
  RunInto(c, c.attrs, MakeInputs(c), {.accumulate = true}, outputs);
  EXPECT_EQ(outputs[0].Get(0), 3.5);
}

TEST(Contribute, RefusesFloat32) {
  ExpectInferError({.op = "contribute", .inputs = {Normal({})}}, "must be float64");
}

}  // namespace
}  // namespace trireme
