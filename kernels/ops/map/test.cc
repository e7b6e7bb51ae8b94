// map: values, gradient and shardings of every kind, odd sizes, errors.
#include <gtest/gtest.h>

#include "kernels/testing/op_case.h"

namespace trireme {
namespace {

const char* const kKinds[] = {"gelu_tanh", "silu", "relu", "sigmoid"};

OpCase Case(const std::string& kind, int64_t n, int64_t m) {
  return {.op = "map", .attrs = {{"kind", kind}}, .inputs = {Normal({{"batch", n}, {"mlp", m}})}};
}

// The values of PyTorch's gelu(approximate="tanh"), silu, relu and sigmoid at 1 and -2.
TEST(Map, KnownValues) {
  const std::vector<std::vector<double>> expected{{0.8411919906, -0.0454023059},
                                                  {0.7310585786, -0.2384058440},
                                                  {1, 0},
                                                  {0.7310585786, 0.1192029220}};
  for (int i = 0; i < 4; ++i) {
    const OpCase c{.op = "map",
                   .attrs = {{"kind", kKinds[i]}},
                   .inputs = {Given({{"n", 2}}, DType::kFloat64, {1, -2})}};
    const HostTensor y = RunOp(c, MakeInputs(c))[0];
    EXPECT_NEAR(y.Get(0), expected[i][0], 1e-9) << kKinds[i];
    EXPECT_NEAR(y.Get(1), expected[i][1], 1e-9) << kKinds[i];
  }
}

TEST(Map, Gradient) {
  for (const char* kind : kKinds) CheckGradient(Case(kind, 3, 5));
}

TEST(Map, EverySharding) {
  for (const char* kind : kKinds) CheckEverySharding(Case(kind, 2, 6));
}

TEST(Map, CpuMatchesReference) {
  for (const char* kind : kKinds) {
    CheckCpuMatchesReference(Case(kind, 1, 1), 1e-5);
    CheckCpuMatchesReference(Case(kind, 5, 7), 1e-5);
    CheckCpuMatchesReference(Case(kind, 65, 129), 1e-5);
  }
}

TEST(Map, LargeArgumentsStayFinite) {
  for (const char* kind : kKinds) {
    const OpCase c{.op = "map",
                   .attrs = {{"kind", kind}},
                   .inputs = {Given({{"n", 4}}, DType::kFloat32, {1e4, -1e4, 100, -100})}};
    CheckCpuMatchesReference(c, 1e-5);
    const double highest = std::string(kind) == "sigmoid" ? 1 : 1e4;
    EXPECT_EQ(RunOp(c, MakeInputs(c), {.cpu = true})[0].Get(0), highest) << kind;
  }
}

TEST(Map, RefusesUnknownKinds) {
  ExpectInferError(Case("tan", 2, 3), "gelu_tanh, silu, relu or sigmoid");
}

}  // namespace
}  // namespace trireme
