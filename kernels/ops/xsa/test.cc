// xsa: known values, what is left of v, gradient, shardings (heads with and without kv_heads), odd
// sizes, errors.
#include <gtest/gtest.h>

#include "kernels/testing/op_case.h"

namespace trireme {
namespace {

OpCase Case(int64_t batch, int64_t position, int64_t heads, int64_t kv_heads, int64_t head_dim) {
  const Dim b{"batch", batch}, p{"position", position}, d{"head_dim", head_dim};
  return {
      .op = "xsa",
      .attrs = {{"query_group", heads / kv_heads}},
      .inputs = {Normal({b, p, {"heads", heads}, d}), Normal({b, p, {"kv_heads", kv_heads}, d})}};
}

// y = (1, 1), v = (1, 0): what points along v goes, the rest stays.
TEST(Xsa, TakesOutThePartAlongTheValue) {
  OpCase c = Case(1, 1, 1, 1, 2);
  c.inputs[0] = Given(c.inputs[0].dims, DType::kFloat32, {1, 1});
  c.inputs[1] = Given(c.inputs[1].dims, DType::kFloat32, {1, 0});
  for (const bool cpu : {false, true}) {
    const HostTensor out = RunOp(c, MakeInputs(c), {.cpu = cpu})[0];
    EXPECT_NEAR(out.Get(0), 1e-6, 1e-7) << cpu;
    EXPECT_EQ(out.Get(1), 1) << cpu;
  }
}

// Where every head's y is its own kv head's v, nothing but eps is left; heads 2 and 3 of four use
// the second of two kv heads.
TEST(Xsa, HeadsShareKvHeads) {
  OpCase c = Case(1, 1, 4, 2, 1);
  c.inputs[0] = Given(c.inputs[0].dims, DType::kFloat64, {3, 3, 5, 5});
  c.inputs[1] = Given(c.inputs[1].dims, DType::kFloat64, {3, 5});
  for (const int64_t start : {0, 2}) {
    c.attrs.Set("head_start", 2 * start);
    c.attrs.Set("kv_head_start", start);
    for (const double value : RunOp(c, MakeInputs(c))[0].Values()) EXPECT_NEAR(value, 0, 1e-6);
  }
}

TEST(Xsa, ZeroValuesTakeNothing) {
  OpCase c = Case(1, 1, 1, 1, 3);
  c.inputs[1] = Given(c.inputs[1].dims, DType::kFloat32, {0, 0, 0});
  for (const bool cpu : {false, true}) {
    const std::vector<HostTensor> inputs = MakeInputs(c);
    EXPECT_EQ(RunOp(c, inputs, {.cpu = cpu})[0].Values(), inputs[0].Values()) << cpu;
  }
}

TEST(Xsa, Gradient) {
  CheckGradient(Case(2, 3, 4, 2, 3));
  CheckGradient(Case(1, 2, 3, 1, 5));
  CheckGradient(Case(1, 1, 2, 2, 1));
}

TEST(Xsa, EverySharding) { CheckEverySharding(Case(2, 6, 12, 6, 4)); }

TEST(Xsa, CpuMatchesReference) {
  // Not one element a head: nothing but rounding would be left of it.
  CheckCpuMatchesReference(Case(1, 1, 1, 1, 2), 1e-5);
  CheckCpuMatchesReference(Case(2, 3, 6, 3, 5), 1e-5);
  CheckCpuMatchesReference(Case(3, 33, 8, 2, 64), 1e-5);
}

TEST(Xsa, RefusesOtherDims) {
  OpCase c = Case(1, 2, 4, 2, 3);
  c.attrs.Set("query_group", int64_t{3});
  ExpectInferError(c, "query_group 3 times 2 kv_heads is not 4 heads");
  c = Case(1, 2, 4, 2, 3);
  c.inputs[1] = Normal({{"batch", 1}, {"key_position", 2}, {"kv_heads", 2}, {"head_dim", 3}});
  ExpectInferError(c, "must have dims [batch 1, position 2, kv_heads 2, head_dim 3]");
}

}  // namespace
}  // namespace trireme
