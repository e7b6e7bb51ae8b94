// copy: strided memory on both sides, every element type, shardings, errors.
#include <gtest/gtest.h>

#include "kernels/ops/kernel.h"
#include "kernels/testing/op_case.h"

namespace trireme {
namespace {

OpCase Case(DType dtype, int64_t n, int64_t m) {
  return {.op = "copy",
          .inputs = {{.dims = {{"batch", n}, {"embed", m}},
                      .dtype = dtype,
                      .data = DataKind::kIds,
                      .bound = 100}}};
}

// Copies a transposed view into the middle of a larger tensor: rows 1..3 of 5, columns 2..3 of 4.
void CheckStrided(Kernel kernel, DType dtype, int num_threads) {
  const HostTensor x = MakeInputs(Case(dtype, 2, 3))[0];
  HostTensor y(dtype, {5, 4});
  y.Fill(-1);
  Tensor from = x.view();
  from.sizes = {3, 2};
  from.strides = {1, 3};
  Tensor to = y.view();
  to.sizes = {3, 2};
  to.data = to.as<char>() + (1 * 4 + 2) * SizeOf(dtype);
  Stream stream{.num_threads = num_threads};
  const std::vector<Tensor> in{from}, out{to};
  const Attrs attrs;
  kernel({.stream = stream, .attrs = attrs, .in = in, .out = out});
  for (int64_t row = 0; row < 5; ++row) {
    for (int64_t column = 0; column < 4; ++column) {
      const bool inside = row >= 1 && row < 4 && column >= 2;
      const double expected = inside ? x.Get((column - 2) * 3 + row - 1) : -1;
      EXPECT_EQ(y.Get(row * 4 + column), expected) << row << " " << column;
    }
  }
}

TEST(Copy, FollowsStridesOnBothSides) {
  for (const DType dtype : {DType::kFloat32, DType::kFloat64, DType::kInt32, DType::kInt8}) {
    CheckStrided(FindKernels("copy").reference, dtype, 1);
    for (const int threads : {1, 2}) CheckStrided(FindKernels("copy").cpu, dtype, threads);
  }
}

TEST(Copy, Gradient) {
  CheckGradient({.op = "copy", .inputs = {Normal({{"batch", 2}, {"embed", 3}})}});
}

TEST(Copy, EverySharding) { CheckEverySharding(Case(DType::kFloat32, 2, 6)); }

TEST(Copy, CpuMatchesReference) {
  for (const DType dtype : {DType::kFloat32, DType::kFloat64, DType::kInt32, DType::kInt8}) {
    CheckCpuMatchesReference(Case(dtype, 1, 1), 0);
    CheckCpuMatchesReference(Case(dtype, 5, 7), 0);
    CheckCpuMatchesReference(Case(dtype, 65, 129), 0);
  }
}

TEST(Copy, TakesOneOperand) {
  OpCase c = Case(DType::kFloat32, 1, 2);
  c.inputs.push_back(c.inputs[0]);
  ExpectInferError(c, "has 2 operands, takes 1");
}

}  // namespace
}  // namespace trireme
