// The two functions, at ordinary and at infinite arguments.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/testing/op_case.h"

namespace trireme {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

OpCase Map2Case(const std::string& kind, int64_t batch) {
  const std::vector<Dim> dims = {{"batch", batch}, {"position", 5}};
  return {.op = "map2", .attrs = {{"kind", kind}}, .inputs = {Normal(dims), Positive(dims)}};
}

TEST(Map2, CpuMatchesReferenceAndEverySplitGivesTheSame) {
  for (const std::string kind : {"exp_diff", "add_log"}) {
    CheckCpuMatchesReference(Map2Case(kind, 7), 1e-6);
    CheckEverySharding(Map2Case(kind, 6));
  }
}

TEST(Map2, HandlesMinusInfinity) {
  OpCase c = Map2Case("exp_diff", 1);
  c.inputs = {Given({{"n", 3}}, DType::kFloat32, {-kInfinity, -kInfinity, 2}),
              Given({{"n", 3}}, DType::kFloat32, {1, -kInfinity, 2})};
  EXPECT_EQ(RunOp(c, MakeInputs(c))[0].Values(), (std::vector<double>{0, 0, 1}));
  CheckCpuMatchesReference(c, 1e-6);
}

TEST(Map2, RefusesUnknownKindAndOtherDims) {
  ExpectInferError(Map2Case("tan", 2), "unknown kind tan; known: exp_diff, add_log");
  OpCase c = Map2Case("exp_diff", 2);
  c.inputs[1] = Normal({{"batch", 2}, {"position", 4}});
  ExpectInferError(c, "must begin with [batch 2, position 5]");
}

}  // namespace
}  // namespace trireme
