// swiglu: gradient, shardings, odd and large values, errors.
#include <gtest/gtest.h>

#include "kernels/testing/op_case.h"

namespace trireme {
namespace {

OpCase Case(int64_t n, int64_t m) {
  const std::vector<Dim> dims{{"batch", n}, {"mlp", m}};
  return {.op = "swiglu", .inputs = {Normal(dims), Normal(dims)}};
}

TEST(Swiglu, Gradient) { CheckGradient(Case(3, 5)); }

TEST(Swiglu, EverySharding) { CheckEverySharding(Case(2, 6)); }

TEST(Swiglu, CpuMatchesReference) {
  CheckCpuMatchesReference(Case(1, 1), 1e-5);
  CheckCpuMatchesReference(Case(5, 7), 1e-5);
  CheckCpuMatchesReference(Case(65, 129), 1e-5);
}

TEST(Swiglu, LargeArgumentsStayFinite) {
  OpCase c = Case(1, 4);
  for (OpInput& input : c.inputs) {
    input = Given(input.dims, DType::kFloat32, {1e4, -1e4, 100, -100});
  }
  CheckCpuMatchesReference(c, 1e-5);
}

TEST(Swiglu, RefusesOperandsOfDifferentDims) {
  OpCase c = Case(2, 3);
  c.inputs[1] = Normal({{"batch", 2}, {"mlp", 4}});
  ExpectInferError(c, "must have dims [batch 2, mlp 3]");
}

}  // namespace
}  // namespace trireme
