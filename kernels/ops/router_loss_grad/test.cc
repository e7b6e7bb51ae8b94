// Gradient of the auxiliary losses: fast = reference and every split by whole groups; values are
// checked against differences in router_loss/test.cc.
#include <gtest/gtest.h>

#include "kernels/ops/route/test_cases.h"

namespace trireme {
namespace {

OpCase GradCase(const std::string& score, int64_t batch, int64_t group, int64_t experts = 5,
                int64_t position = 3) {
  const std::vector<Dim> tokens = {{"batch", batch}, {"position", position}};
  const int64_t count = batch * position;
  std::vector<double> ids;
  const std::vector<double> padding = SomePadding(count);
  for (int64_t token = 0; token < count; ++token) {
    ids.push_back(padding[token] < 0 ? -1 : static_cast<double>(token % 2));
    ids.push_back(padding[token] < 0 ? -1 : static_cast<double>(2 + token % (experts - 3)));
  }
  return {.op = "router_loss_grad",
          .attrs = {{"balance", 0.7}, {"z", 0.3}, {"group", group}, {"score", score}},
          .inputs = {Given({}, DType::kFloat64, {1.25}),
                     Normal({tokens[0], tokens[1], {"router_expert", experts}}),
                     Given({tokens[0], tokens[1], {"choice", 2}}, DType::kInt32, ids),
                     Positive(tokens), Given(tokens, DType::kInt32, padding)}};
}

TEST(RouterLossGrad, CpuMatchesReferenceAndEverySplitGivesTheSame) {
  for (const std::string score : {"softmax", "sigmoid"}) {
    for (const int64_t group : {1, 2}) {
      CheckCpuMatchesReference(GradCase(score, 4, group), 1e-5);
      CheckCpuMatchesReference(GradCase(score, 4, group, 64, 150), 1e-5);
      CheckCpuMatchesReference(GradCase(score, 2, group, 7, 150), 1e-5);
      CheckEverySharding(GradCase(score, 12, group));
    }
  }
}

TEST(RouterLossGrad, PaddingAndEmptyGroupsGetNone) {
  const OpCase c = GradCase("softmax", 4, 2);
  std::vector<HostTensor> inputs = MakeInputs(c);
  for (int64_t token = 0; token < 6; ++token) inputs[4].Set(token, -1);  // the first group
  for (const bool cpu : {false, true}) {
    const HostTensor dlogits = RunOp(c, inputs, {.cpu = cpu})[0];
    for (int64_t token = 0; token < 12; ++token) {
      for (int64_t e = 0; e < 5; ++e) {
        EXPECT_EQ(dlogits.Get(token * 5 + e) == 0, token < 6 || token == 8) << token;
      }
    }
  }
}

}  // namespace
}  // namespace trireme
