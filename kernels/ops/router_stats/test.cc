// Router statistics: fast = reference, splits by whole groups, sums and quantiles by hand, padding.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "kernels/ops/route/test_cases.h"
#include "kernels/ops/router_stats/layout.h"

namespace trireme {
namespace {

struct StatsShape {
  int64_t batch = 4;
  int64_t position = 5;
  int64_t experts = 6;
  int64_t k = 2;
  int64_t group = 1;

  int64_t tokens() const { return batch * position; }
};

// Random logits and bias, some padding; ids as the router would choose them.
OpCase StatsCase(const StatsShape& shape, const RouterForm& form) {
  const std::vector<Dim> tokens = {{"batch", shape.batch}, {"position", shape.position}};
  const std::vector<double> padding = SomePadding(shape.tokens());
  OpCase route = {.op = "route",
                  .attrs = {{"k", shape.k},
                            {"score", form.score},
                            {"bias_to", form.bias_to},
                            {"renormalise", form.renormalise},
                            {"total", form.total},
                            {"eps", form.eps}},
                  .inputs = {Normal({tokens[0], tokens[1], {"router_expert", shape.experts}})}};
  if (form.has_bias()) route.inputs.push_back(Normal({{"router_expert", shape.experts}}));
  route.inputs.push_back(Given(tokens, DType::kInt32, padding));
  const std::vector<HostTensor> in = MakeInputs(route);
  const std::vector<double> ids = RunOp(route, in)[0].Values();
  OpCase c = {.op = "router_stats",
              .attrs = {{"k", shape.k},
                        {"group", shape.group},
                        {"score", form.score},
                        {"bias_to", form.bias_to}},
              .inputs = {Given(route.inputs[0].dims, DType::kFloat32, in[0].Values()),
                         Given({tokens[0], tokens[1], {"choice", shape.k}}, DType::kInt32, ids)}};
  if (form.bias_to == "logits") {
    c.inputs.push_back(Given(route.inputs[1].dims, DType::kFloat32, in[1].Values()));
  }
  c.inputs.push_back(Positive(tokens));
  c.inputs.push_back(Given(tokens, DType::kInt32, padding));
  return c;
}

// Statistics straight from their definitions, for a router of Grug's form (sigmoid, biased logits).
class ByHand {
 public:
  ByHand(const StatsShape& shape, const std::vector<HostTensor>& in) : shape_(shape), in_(in) {}

  std::vector<double> Stats() const {
    std::vector<double> stats(RouterStatSize(shape_.experts));
    const int64_t rows = shape_.group * shape_.position;
    for (int64_t begin = 0; begin < shape_.tokens(); begin += rows) {
      std::vector<int64_t> valid;
      for (int64_t t = begin; t < begin + rows; ++t) {
        if (in_[4].Get(t) >= 0) valid.push_back(t);
      }
      stats[kRouterPadding] += static_cast<double>(rows - static_cast<int64_t>(valid.size()));
      AddGroup(valid, stats);
    }
    return stats;
  }

 private:
  double Logit(int64_t t, int64_t e) const { return in_[0].Get(t * shape_.experts + e); }
  double Sigmoid(int64_t t, int64_t e) const { return 1 / (1 + std::exp(-Logit(t, e))); }
  double Probability(int64_t t, int64_t e) const {
    double sum = 0;
    for (int64_t i = 0; i < shape_.experts; ++i) sum += Sigmoid(t, i);
    return Sigmoid(t, e) / sum;
  }
  double Alpha(int64_t t) const {
    std::vector<double> s;
    for (int64_t e = 0; e < shape_.experts; ++e) s.push_back(Logit(t, e) + in_[2].Get(e));
    std::sort(s.begin(), s.end(), std::greater<double>());
    return s[std::min(shape_.k, shape_.experts - 1)];
  }

  void AddGroup(const std::vector<int64_t>& valid, std::vector<double>& stats) const {
    const auto tokens = static_cast<double>(valid.size());
    const auto experts = static_cast<double>(shape_.experts);
    double weight = 0, balance = 0, squares = 0;
    for (const int64_t t : valid) {
      weight += in_[3].Get(t);
      double sum = 0;
      for (int64_t e = 0; e < shape_.experts; ++e) {
        sum += std::exp(Logit(t, e));
        stats[kRouterEntropy] -= Probability(t, e) * std::log(Probability(t, e));
      }
      squares += std::log(sum) * std::log(sum) / tokens;
    }
    for (int64_t e = 0; e < shape_.experts; ++e) {
      double count = 0, mean_p = 0;
      std::vector<double> margins;
      for (const int64_t t : valid) {
        for (int64_t c = 0; c < shape_.k; ++c) {
          count += in_[1].Get(t * shape_.k + c) == static_cast<double>(e) ? 1 : 0;
        }
        mean_p += Probability(t, e) / tokens;
        margins.push_back(Logit(t, e) - Alpha(t));
      }
      balance += experts * count / (tokens * static_cast<double>(shape_.k)) * mean_p;
      stats[kRouterLoads + e] += count;
      std::sort(margins.begin(), margins.end(), std::greater<double>());
      const size_t n = std::max<size_t>(1, margins.size() * shape_.k / shape_.experts);
      stats[RouterBetas(shape_.experts) + e] += tokens * margins[n - 1];
    }
    stats[kRouterTokens] += tokens;
    stats[kRouterBalanceLoss] += weight * balance;
    stats[kRouterZLoss] += weight * squares;
  }

  StatsShape shape_;
  const std::vector<HostTensor>& in_;
};

TEST(RouterStats, CpuMatchesReference) {
  for (const RouterForm& form : AllForms()) {
    CheckCpuMatchesReference(StatsCase({.group = 2}, form), 1e-5);
    CheckCpuMatchesReference(StatsCase({.experts = 3, .k = 3}, form), 1e-5);
    CheckCpuMatchesReference(StatsCase({.batch = 2, .position = 1, .experts = 33, .k = 4}, form),
                             1e-5);
    CheckCpuMatchesReference(
        StatsCase({.batch = 2, .position = 300, .experts = 70, .k = 4, .group = 2}, form), 1e-5);
    CheckCpuMatchesReference(StatsCase({.position = 75, .experts = 9, .k = 3, .group = 2}, form),
                             1e-5);
  }
}

// However the batch is cut, as long as a shard holds whole groups.
TEST(RouterStats, ShardsOfWholeGroupsAddUp) {
  for (const RouterForm& form : AllForms()) {
    for (const int64_t group : {1, 2}) {
      CheckEverySharding(StatsCase({.batch = 12, .group = group}, form));
    }
  }
}

TEST(RouterStats, AreTheSumsOverGroupsByHand) {
  for (const int64_t group : {1, 2, 4}) {
    for (const int64_t k : {1, 2, 6}) {
      const StatsShape shape = {.k = k, .group = group};
      const OpCase c = InFloat64(StatsCase(shape, GrugForm()));
      const std::vector<HostTensor> inputs = MakeInputs(c);
      const std::vector<double> expected = ByHand(shape, inputs).Stats();
      const std::vector<double> actual = RunOp(c, inputs)[0].Values();
      ASSERT_EQ(actual.size(), expected.size());
      for (size_t i = 0; i < actual.size(); ++i) {
        EXPECT_NEAR(actual[i], expected[i], 1e-11) << "number " << i << ", groups of " << group;
      }
    }
  }
}

TEST(RouterStats, GroupsMatterToQuantilesAndLossesNotToLoads) {
  const OpCase one = StatsCase({.group = 1}, GrugForm()), two = StatsCase({.group = 2}, GrugForm());
  const std::vector<double> a = RunOp(one, MakeInputs(one))[0].Values();
  const std::vector<double> b = RunOp(two, MakeInputs(two))[0].Values();
  for (int64_t e = 0; e < 6; ++e) EXPECT_EQ(a[kRouterLoads + e], b[kRouterLoads + e]);
  EXPECT_EQ(a[kRouterTokens], b[kRouterTokens]);
  EXPECT_NE(a[kRouterBalanceLoss], b[kRouterBalanceLoss]);
  EXPECT_NE(a[RouterBetas(6)], b[RouterBetas(6)]);
}

TEST(RouterStats, PaddingCountsAsPaddingAndElseNotAtAll) {
  for (const RouterForm& form : AllForms()) {
    const OpCase c = StatsCase({.group = 2}, form);
    const std::vector<HostTensor> inputs = MakeInputs(c);
    for (const bool cpu : {false, true}) {
      const std::vector<double> stats = RunOp(c, inputs, {.cpu = cpu})[0].Values();
      EXPECT_EQ(stats[kRouterTokens], 16);
      EXPECT_EQ(stats[kRouterPadding], 4);
      std::vector<HostTensor> other = inputs;
      for (int64_t e = 0; e < 6; ++e) other[0].Set(3 * 6 + e, std::nan(""));
      other[other.size() - 2].Set(3, 1e9);
      EXPECT_EQ(RunOp(c, other, {.cpu = cpu})[0].Values(), stats);
    }
  }
}

TEST(RouterStats, GroupsWithoutValidTokensGiveNothing) {
  const OpCase c = StatsCase({.batch = 2}, GrugForm());
  std::vector<HostTensor> inputs = MakeInputs(c);
  inputs[1].Fill(-1);
  inputs[4].Fill(-1);
  std::vector<double> expected(RouterStatSize(6));
  expected[kRouterPadding] = 10;
  for (const bool cpu : {false, true}) {
    EXPECT_EQ(RunOp(c, inputs, {.cpu = cpu})[0].Values(), expected);
  }
}

// log E when all experts are alike, 0 when one is certain.
TEST(RouterStats, EntropyOfEvenAndCertainRouters) {
  for (const std::string score : {"softmax", "sigmoid"}) {
    OpCase c = StatsCase({.batch = 1, .position = 2, .experts = 4}, {score, "none"});
    std::vector<HostTensor> inputs = MakeInputs(c);
    for (const bool cpu : {false, true}) {
      inputs[0].Fill(-0.5);
      EXPECT_NEAR(RunOp(c, inputs, {.cpu = cpu})[0].Get(kRouterEntropy), 2 * std::log(4), 1e-6);
      inputs[0].Fill(-150);
      inputs[0].Set(1, 30);
      inputs[0].Set(6, 30);
      EXPECT_NEAR(RunOp(c, inputs, {.cpu = cpu})[0].Get(kRouterEntropy), 0, 1e-6);
    }
  }
}

// One NaN may spoil the numbers it enters but not memory or the counts.
TEST(RouterStats, CountsSurviveNans) {
  const OpCase c = StatsCase({.batch = 2, .position = 40}, GrugForm());
  std::vector<HostTensor> inputs = MakeInputs(c);
  const std::vector<double> before = RunOp(c, inputs)[0].Values();
  for (int64_t i = 0; i < inputs[0].count(); i += 7) inputs[0].Set(i, std::nan(""));
  for (const bool cpu : {false, true}) {
    const std::vector<double> stats = RunOp(c, inputs, {.cpu = cpu})[0].Values();
    EXPECT_EQ(stats[kRouterTokens], before[kRouterTokens]);
    for (int64_t e = 0; e < 6; ++e) EXPECT_EQ(stats[kRouterLoads + e], before[kRouterLoads + e]);
    EXPECT_TRUE(std::isnan(stats[kRouterEntropy]));
  }
}

TEST(RouterStats, RefusesGroupsThatDoNotDivideTheBatch) {
  OpCase c = StatsCase({.batch = 4}, MixtralForm());
  c.attrs.Set("group", int64_t{3});
  ExpectInferError(c, "balance groups of 3 sequences do not divide a batch of 4");
}

}  // namespace
}  // namespace trireme
