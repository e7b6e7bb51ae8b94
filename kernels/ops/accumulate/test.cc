// accumulate: adds or copies, both float types, shardings, odd sizes, errors.
#include <gtest/gtest.h>

#include "kernels/testing/op_case.h"

namespace trireme {
namespace {

OpCase Case(int64_t n, int64_t m, DType dtype = DType::kFloat32) {
  return {.op = "accumulate", .inputs = {Normal({{"batch", n}, {"embed", m}}, dtype)}};
}

TEST(Accumulate, AddsOnlyWhenAsked) {
  const OpCase c{.op = "accumulate", .inputs = {Given({{"n", 2}}, DType::kFloat32, {1, 2})}};
  const std::vector<HostTensor> inputs = MakeInputs(c);
  std::vector<HostTensor> outputs = inputs;
  RunInto(c, c.attrs, inputs, {.accumulate = true}, outputs);
  EXPECT_EQ(outputs[0].Values(), std::vector<double>({2, 4}));
  RunInto(c, c.attrs, inputs, {}, outputs);
  EXPECT_EQ(outputs[0].Values(), std::vector<double>({1, 2}));
}

TEST(Accumulate, EverySharding) { CheckEverySharding(Case(2, 6)); }

TEST(Accumulate, CpuMatchesReference) {
  for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
    CheckCpuMatchesReference(Case(1, 1, dtype), 1e-6);
    CheckCpuMatchesReference(Case(5, 7, dtype), 1e-6);
    CheckCpuMatchesReference(Case(65, 129, dtype), 1e-6);
  }
}

TEST(Accumulate, RefusesIntegers) {
  ExpectInferError({.op = "accumulate", .inputs = {Ids({{"n", 2}}, 3)}}, "float32 or float64");
}

}  // namespace
}  // namespace trireme
