// accumulate: adds or copies, both float types, strided views, shardings, odd sizes, errors.
#include <gtest/gtest.h>

#include "kernels/ops/kernel.h"
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

// A transposed view into the middle of a larger tensor: rows 1..3 of 5, columns 2..3 of 4.
TEST(Accumulate, FollowsStridesOnBothSides) {
  for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
    for (const Kernel kernel :
         {FindKernels("accumulate").reference, FindKernels("accumulate").cpu}) {
      for (const bool add : {false, true}) {
        const HostTensor x = MakeInputs(Case(2, 3, dtype))[0];
        HostTensor y(dtype, {5, 4});
        y.Fill(-1);
        Tensor from = x.view();
        from.sizes = {3, 2};
        from.strides = {1, 3};
        Tensor to = y.view();
        to.sizes = {3, 2};
        to.data = to.as<char>() + (1 * 4 + 2) * SizeOf(dtype);
        Stream stream;
        const Attrs attrs;
        const std::vector<Tensor> in{from}, out{to};
        kernel({.stream = stream, .attrs = attrs, .in = in, .out = out, .accumulate = add});
        for (int64_t i = 0; i < y.count(); ++i) {
          const int64_t row = i / 4 - 1, column = i % 4 - 2;
          const bool inside = row >= 0 && row < 3 && column >= 0;
          const double value = inside ? x.Get(column * 3 + row) + (add ? -1 : 0) : -1;
          EXPECT_NEAR(y.Get(i), value, 1e-6) << i;
        }
      }
    }
  }
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
