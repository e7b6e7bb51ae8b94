// The router's gradient in every split, and 0 for experts nobody chose; values are checked in
// route/test.cc.
#include <gtest/gtest.h>

#include "kernels/testing/op_case.h"

namespace trireme {
namespace {

// k = 2 of 3 experts; the third is chosen by nobody.
OpCase GradCase(int64_t batch) {
  const std::vector<Dim> choices = {{"batch", batch}, {"choice", 2}};
  std::vector<double> ids;
  for (int64_t token = 0; token < batch; ++token) {
    ids.push_back(static_cast<double>(token % 2));
    ids.push_back(static_cast<double>(1 - token % 2));
  }
  return {.op = "route_grad",
          .attrs = {{"k", int64_t{2}}},
          .inputs = {Normal(choices), Normal({{"batch", batch}, {"router_expert", 3}}),
                     Given(choices, DType::kInt32, ids)}};
}

TEST(RouteGrad, CpuMatchesReferenceAndEverySplitGivesTheSame) {
  CheckCpuMatchesReference(GradCase(7), 1e-5);
  CheckEverySharding(GradCase(6));
}

TEST(RouteGrad, SumsToZeroOverTheChosenAndIsZeroElsewhere) {
  const OpCase c = InFloat64(GradCase(5));
  const HostTensor dlogits = RunOp(c, MakeInputs(c))[0];
  for (int64_t token = 0; token < 5; ++token) {
    EXPECT_NE(dlogits.Get(token * 3), 0);
    EXPECT_NEAR(dlogits.Get(token * 3) + dlogits.Get(token * 3 + 1), 0, 1e-15);
    EXPECT_EQ(dlogits.Get(token * 3 + 2), 0);
  }
}

}  // namespace
}  // namespace trireme
