// map_grad: shardings, cpu kernel, odd and large values, errors; its values are checked by map's
// gradient.
#include <gtest/gtest.h>

#include "kernels/testing/op_case.h"

namespace trireme {
namespace {

const char* const kKinds[] = {"gelu_tanh", "silu", "relu", "sigmoid"};

OpCase Case(const std::string& kind, int64_t n, int64_t m) {
  const std::vector<Dim> dims{{"batch", n}, {"mlp", m}};
  return {.op = "map_grad", .attrs = {{"kind", kind}}, .inputs = {Normal(dims), Normal(dims)}};
}

TEST(MapGrad, EverySharding) {
  for (const char* kind : kKinds) CheckEverySharding(Case(kind, 2, 6));
}

TEST(MapGrad, CpuMatchesReference) {
  for (const char* kind : kKinds) {
    CheckCpuMatchesReference(Case(kind, 1, 1), 1e-5);
    CheckCpuMatchesReference(Case(kind, 5, 7), 1e-5);
    CheckCpuMatchesReference(Case(kind, 65, 129), 1e-5);
  }
}

TEST(MapGrad, LargeArgumentsStayFinite) {
  for (const char* kind : kKinds) {
    OpCase c = Case(kind, 1, 5);
    c.inputs[1] = Given(c.inputs[1].dims, DType::kFloat32, {1e4, -1e4, 100, -100, 0.5});
    CheckCpuMatchesReference(c, 1e-5);
  }
}

TEST(MapGrad, RefusesOperandsOfDifferentDims) {
  OpCase c = Case("silu", 2, 3);
  c.inputs[1] = Normal({{"batch", 2}});
  ExpectInferError(c, "must have dims [batch 2, mlp 3]");
}

}  // namespace
}  // namespace trireme
