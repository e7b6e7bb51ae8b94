// embed_lookup: gradient, shardings, ids of other ranks, odd sizes, errors.
#include <gtest/gtest.h>

#include "kernels/testing/op_case.h"

namespace trireme {
namespace {

OpCase Case(int64_t batch, int64_t position, int64_t vocab, int64_t embed) {
  return {.op = "embed_lookup",
          .inputs = {Normal({{"vocab", vocab}, {"embed", embed}}),
                     Ids({{"batch", batch}, {"position", position}}, vocab)}};
}

TEST(EmbedLookup, PicksRowsAndGivesZeroForRowsElsewhere) {
  const OpCase c{.op = "embed_lookup",
                 .attrs = {{"vocab_start", int64_t{10}}},
                 .inputs = {Given({{"vocab", 2}, {"embed", 2}}, DType::kFloat32, {1, 2, 3, 4}),
                            Given({{"batch", 4}}, DType::kInt32, {11, 9, 12, 10})}};
  EXPECT_EQ(RunOp(c, MakeInputs(c))[0].Values(), std::vector<double>({3, 4, 0, 0, 0, 0, 1, 2}));
}

TEST(EmbedLookup, Gradient) { CheckGradient(Case(2, 3, 5, 4)); }

TEST(EmbedLookup, EverySharding) { CheckEverySharding(Case(2, 3, 12, 6)); }

TEST(EmbedLookup, CpuMatchesReference) {
  CheckCpuMatchesReference(Case(1, 1, 1, 1), 0);
  CheckCpuMatchesReference(Case(3, 5, 7, 7), 0);
  CheckCpuMatchesReference(Case(3, 5, 7, 8), 0);
  CheckCpuMatchesReference(Case(3, 40, 65, 33), 0);
}

TEST(EmbedLookup, RefusesFloatIdsAndTablesOfThreeDims) {
  OpCase c = Case(2, 3, 5, 4);
  c.inputs[1] = Normal({{"batch", 2}});
  ExpectInferError(c, "must be int32");
  c = Case(2, 3, 5, 4);
  c.inputs[0] = Normal({{"a", 2}, {"vocab", 5}, {"embed", 4}});
  ExpectInferError(c, "must have 2 dims");
}

}  // namespace
}  // namespace trireme
