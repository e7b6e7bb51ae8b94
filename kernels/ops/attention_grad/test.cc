// attention_grad: shardings, queries that see nothing, odd sizes, errors; its values are checked by
// attention's gradient. o and lse come from the forward.
#include <gtest/gtest.h>

#include "kernels/ops/attention/test_case.h"
#include "kernels/testing/op_case.h"

namespace trireme {
namespace {

OpCase Case(const AttentionShape& shape) {
  const OpCase forward = AttentionCase(shape);
  const OpCase exact = InFloat64(forward);
  const std::vector<HostTensor> inputs = MakeInputs(exact);
  const std::vector<HostTensor> outputs = RunOp(exact, inputs);
  std::vector<OpInput> given = forward.inputs;
  for (int i = 0; i < 3; ++i) given[i] = Given(given[i].dims, DType::kFloat32, inputs[i].Values());
  std::vector<Dim> rows = given[0].dims;
  rows.pop_back();
  return {.op = "attention_grad",
          .attrs = forward.attrs,
          .inputs = {Normal(given[0].dims), given[0], given[1], given[2],
                     Given(given[0].dims, DType::kFloat32, outputs[0].Values()),
                     Given(rows, DType::kFloat32, outputs[1].Values()), given[3], given[4],
                     given[5], given[6]}};
}

// Splits of key_position are the expansion's: a ring.
TEST(AttentionGrad, EverySharding) {
  for (const int64_t window : {0, 2}) {
    OpCase c = Case({.batch = 2,
                     .queries = 6,
                     .keys = 6,
                     .heads = 12,
                     .kv_heads = 6,
                     .head_dim = 4,
                     .segment_length = 4,
                     .window = window});
    c.skip_dims = {"key_position"};
    CheckEverySharding(c);
  }
}

// Over keys in three parts, as a ring's steps see them: dq adds up, dk and dv stand side by side.
TEST(AttentionGrad, RingStepsOfAWindowAddUpToTheWhole) {
  const OpCase whole = Case({2, 12, 12, 4, 2, 8, 1000, 0, 3});
  for (const bool cpu : {false, true}) {
    const RunOptions options{.cpu = cpu};
    const std::vector<HostTensor> expected = RunOp(whole, MakeInputs(whole), options);
    HostTensor dq(expected[0].dtype(), expected[0].sizes());
    for (const int64_t begin : {0, 4, 8}) {
      const OpCase c = KeysOf(whole, begin, 4, /*k=*/2, /*index=*/7);
      const std::vector<HostTensor> part = RunOp(c, MakeInputs(c), options);
      for (int64_t i = 0; i < dq.count(); ++i) dq.Set(i, dq.Get(i) + part[0].Get(i));
      for (const int i : {1, 2}) {
        EXPECT_EQ(Difference(expected[i].Slice(1, begin, 4), part[i], 1e-4), "") << i;
      }
    }
    EXPECT_EQ(Difference(expected[0], dq, 1e-4), "") << cpu;
  }
}

TEST(AttentionGrad, AQueryWithoutKeysGivesNothing) {
  const OpCase c = Case({.queries = 1, .keys = 1, .first_query = -1});
  for (const bool cpu : {false, true}) {
    for (const HostTensor& grad : RunOp(c, MakeInputs(c), {.cpu = cpu})) {
      EXPECT_EQ(grad.Get(0), 0) << cpu;
    }
  }
}

// Queries and keys in another order, with their positions, give the same gradients in that order.
TEST(AttentionGrad, PositionsMayStandInAnyOrder) {
  const OpCase c = Case({2, 300, 300, 4, 2, 16, 170});
  const std::vector<HostTensor> inputs = MakeInputs(c);
  const RunOptions options{.cpu = true, .num_threads = 2};
  const std::vector<HostTensor> expected = RunOp(c, inputs, options);
  for (const bool swap : {false, true}) {
    const std::vector<int64_t> order = ZigZag(300, swap);
    std::vector<HostTensor> moved;
    for (const HostTensor& input : inputs) moved.push_back(Reordered(input, order));
    const std::vector<HostTensor> out = RunOp(c, moved, options);
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(Difference(expected[i], Reordered(out[i], order, /*back=*/true), 1e-4), "") << i;
    }
  }
}

TEST(AttentionGrad, CpuMatchesReference) {
  for (const AttentionShape& shape : AttentionShapes()) CheckCpuMatchesReference(Case(shape), 1e-5);
  CheckCpuMatchesReference(Case({2, 70, 70, 4, 2, 32, 33}), 1e-4);
  CheckCpuMatchesReference(Case({1, 130, 130, 1, 1, 64}), 1e-4);
  CheckCpuMatchesReference(Case({2, 300, 300, 4, 2, 16, 170, 0, 20}), 1e-4);
  CheckCpuMatchesReference(Case({1, 400, 400, 2, 1, 16, 7, 0, 3}), 1e-4);
}

TEST(AttentionGrad, RefusesOutputsOfOtherDims) {
  OpCase c = Case({.queries = 3, .keys = 3, .head_dim = 2});
  c.inputs[4] = c.inputs[2];
  ExpectInferError(c, "must have dims [batch 1, position 3, heads 1, head_dim 2]");
  c.inputs.pop_back();
  ExpectInferError(c, "has 9 operands, takes 10");
}

}  // namespace
}  // namespace trireme
