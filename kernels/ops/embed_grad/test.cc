// embed_grad: sums rows by id, shardings over a dim that only the output has, odd sizes, errors.
#include <gtest/gtest.h>

#include "kernels/testing/op_case.h"

namespace trireme {
namespace {

OpCase Case(int64_t batch, int64_t position, int64_t vocab, int64_t embed) {
  return {.op = "embed_grad",
          .attrs = {{"dim", "vocab"}, {"size", vocab}},
          .inputs = {Normal({{"batch", batch}, {"position", position}, {"embed", embed}}),
                     Ids({{"batch", batch}, {"position", position}}, vocab)}};
}

TEST(EmbedGrad, AddsRowsOfEqualIds) {
  const OpCase c{.op = "embed_grad",
                 .attrs = {{"dim", "vocab"}, {"size", int64_t{3}}},
                 .inputs = {Given({{"batch", 3}, {"embed", 1}}, DType::kFloat32, {1, 2, 4}),
                            Given({{"batch", 3}}, DType::kInt32, {2, 0, 2})}};
  EXPECT_EQ(RunOp(c, MakeInputs(c))[0].Values(), std::vector<double>({2, 0, 5}));
}

TEST(EmbedGrad, EverySharding) { CheckEverySharding(Case(2, 3, 12, 6)); }

TEST(EmbedGrad, CpuMatchesReference) {
  CheckCpuMatchesReference(Case(1, 1, 1, 1), 1e-6);
  CheckCpuMatchesReference(Case(3, 5, 7, 7), 1e-6);
  CheckCpuMatchesReference(Case(2, 3, 4, 300), 1e-6);
  CheckCpuMatchesReference(Case(3, 101, 300, 3), 1e-6);
  CheckCpuMatchesReference(Case(4, 150, 2, 5), 1e-5);
  CheckCpuMatchesReference(Case(3, 40, 65, 33), 1e-5);
}

TEST(EmbedGrad, RefusesIdsOfOtherDims) {
  OpCase c = Case(2, 3, 5, 4);
  c.inputs[1] = Ids({{"batch", 2}}, 5);
  ExpectInferError(c, "must have dims [batch 2, position 3]");
  c = Case(2, 3, 0, 4);
  c.inputs[1].bound = 1;
  ExpectInferError(c, "size is 0");
}

}  // namespace
}  // namespace trireme
