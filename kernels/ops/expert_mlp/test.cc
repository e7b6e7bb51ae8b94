// The composite's types and messages; what it computes is its expansion's, which the tests of
// layouts and goldens run.
#include <gtest/gtest.h>

#include "kernels/ops/expert_mlp/operands.h"
#include "kernels/testing/op_case.h"

namespace trireme {
namespace {

OpCase Case(int64_t all_to_all) {
  return {.op = "expert_mlp",
          .attrs = {{"num_experts", int64_t{4}},
                    {"expert_shards", int64_t{2}},
                    {"token_shards", int64_t{3}},
                    {"capacity", int64_t{5}},
                    {"waves", int64_t{2}},
                    {"thin", int64_t{0}},
                    {"choices", int64_t{2}},
                    {"all_to_all", all_to_all},
                    {"fill", 0.8}},
          .inputs = {Normal({{"batch", 6}, {"position", 2}, {"embed", 8}}),
                     Ids({{"batch", 6}, {"position", 2}, {"choice", 2}}, 4),
                     Normal({{"batch", 6}, {"position", 2}, {"choice", 2}}),
                     Normal({{"expert", 4}, {"embed", 8}, {"mlp", 6}}),
                     Normal({{"expert", 4}, {"embed", 8}, {"mlp", 6}}),
                     Normal({{"expert", 4}, {"mlp", 6}, {"embed", 8}})}};
}

TEST(ExpertMlp, RowsArePoolsOfTokenPartsAndExpertParts) {
  for (const int64_t all_to_all : {0, 1}) {
    const StatusOr<std::vector<ValueType>> types = InferCase(Case(all_to_all));
    ASSERT_TRUE(types.ok()) << types.status();
    const std::string tokens_side = all_to_all ? "destination" : "expert_shard";
    const auto dims = [&](int output) { return ToText((*types)[output].dims); };
    EXPECT_EQ(dims(kExpertY), "[batch 6, position 2, embed 8]");
    EXPECT_EQ(dims(kExpertSource), "[wave 2, " + tokens_side + " 2, slot 15]");
    EXPECT_EQ(dims(kExpertCounts), "[wave 2, token_shard 3, expert 4]");
    EXPECT_EQ(dims(kExpertRows), "[expert_shard 2, slot 15, embed 8]");
    EXPECT_EQ(dims(kExpertInner), "[expert_shard 2, slot 15, mlp 6]");
    EXPECT_EQ(dims(kExpertOut), "[" + tokens_side + " 2, slot 15, embed 8]");
  }
}

TEST(ExpertMlp, MatricesOfAnotherShapeAreRefused) {
  OpCase c = Case(0);
  c.inputs[kExpertDown] = Normal({{"expert", 4}, {"embed", 8}, {"mlp", 6}});
  ExpectInferError(c, "down");
}

}  // namespace
}  // namespace trireme
