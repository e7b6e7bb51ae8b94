// The auxiliary losses: gradients, splits by whole groups, a computation by hand, balance, padding.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/ops/route/test_cases.h"

namespace trireme {
namespace {

struct LossShape {
  int64_t batch = 4;
  int64_t position = 5;
  int64_t experts = 6;
  int64_t k = 2;
  int64_t group = 1;
};

// Random logits, weights in (0.5, 1.5), each token's ids k different experts but never the last.
OpCase LossCase(const LossShape& shape, const std::string& score, double balance, double z) {
  const std::vector<Dim> tokens = {{"batch", shape.batch}, {"position", shape.position}};
  const int64_t count = shape.batch * shape.position;
  std::vector<double> ids;
  TestRandom random(5);
  const std::vector<double> padding = SomePadding(count);
  for (int64_t token = 0; token < count; ++token) {
    const int64_t first = random.Below(shape.experts - 1);
    for (int64_t c = 0; c < shape.k; ++c) {
      ids.push_back(padding[token] < 0 ? -1
                                       : static_cast<double>((first + c) % (shape.experts - 1)));
    }
  }
  return {.op = "router_loss",
          .attrs = {{"balance", balance}, {"z", z}, {"group", shape.group}, {"score", score}},
          .inputs = {Normal({tokens[0], tokens[1], {"router_expert", shape.experts}}),
                     Given({tokens[0], tokens[1], {"choice", shape.k}}, DType::kInt32, ids),
                     Positive(tokens), Given(tokens, DType::kInt32, padding)},
          .grad_inputs = {0}};
}

// Straight from the definition, a group at a time.
double LossByHand(const LossShape& shape, const std::vector<HostTensor>& in, bool sigmoid,
                  double balance, double z) {
  const int64_t rows = shape.group * shape.position;
  const auto experts = static_cast<double>(shape.experts);
  double loss = 0;
  for (int64_t begin = 0; begin < shape.batch * shape.position; begin += rows) {
    std::vector<double> n(shape.experts), mean_p(shape.experts);
    double tokens = 0, weight = 0, assignments = 0, squares = 0;
    for (int64_t t = begin; t < begin + rows; ++t) tokens += in[3].Get(t) >= 0 ? 1 : 0;
    for (int64_t t = begin; t < begin + rows; ++t) {
      if (in[3].Get(t) < 0) continue;
      weight += in[2].Get(t);
      for (int64_t c = 0; c < shape.k; ++c) {
        n[static_cast<size_t>(in[1].Get(t * shape.k + c))] += 1;
        assignments += 1;
      }
      double sum = 0, scores = 0;
      const auto score = [&](int64_t e) {
        const double logit = in[0].Get(t * shape.experts + e);
        return sigmoid ? 1 / (1 + std::exp(-logit)) : std::exp(logit);
      };
      for (int64_t e = 0; e < shape.experts; ++e) {
        sum += std::exp(in[0].Get(t * shape.experts + e));
        scores += score(e);
      }
      for (int64_t e = 0; e < shape.experts; ++e) mean_p[e] += score(e) / scores / tokens;
      squares += std::log(sum) * std::log(sum);
    }
    double balance_loss = 0;
    for (int64_t e = 0; e < shape.experts; ++e) {
      balance_loss += experts * n[e] / assignments * mean_p[e];
    }
    loss += weight * (balance * balance_loss + z * squares / tokens);
  }
  return loss;
}

TEST(RouterLoss, GradientIsRight) {
  for (const std::string score : {"softmax", "sigmoid"}) {
    for (const int64_t group : {1, 2, 4}) {
      CheckGradient(LossCase({.group = group}, score, 0.7, 0));
      CheckGradient(LossCase({.group = group}, score, 0, 0.3));
      CheckGradient(LossCase({.group = group}, score, 0.7, 0.3));
    }
  }
}

TEST(RouterLoss, CpuMatchesReference) {
  for (const std::string score : {"softmax", "sigmoid"}) {
    CheckCpuMatchesReference(LossCase({.group = 2}, score, 0.7, 0.3), 1e-6);
    CheckCpuMatchesReference(
        LossCase({.batch = 2, .position = 300, .experts = 64, .k = 4, .group = 2}, score, 0.7, 0.3),
        1e-6);
    CheckCpuMatchesReference(LossCase({.batch = 4, .position = 150, .group = 2}, score, 0.7, 0.3),
                             1e-6);
  }
}

TEST(RouterLoss, ShardsOfWholeGroupsAddUp) {
  for (const std::string score : {"softmax", "sigmoid"}) {
    for (const int64_t group : {1, 2}) {
      CheckEverySharding(LossCase({.batch = 12, .group = group}, score, 0.7, 0.3));
    }
  }
}

TEST(RouterLoss, IsTheSumOverGroupsByHand) {
  for (const std::string score : {"softmax", "sigmoid"}) {
    for (const int64_t group : {1, 2}) {
      const LossShape shape = {.group = group};
      const OpCase c = InFloat64(LossCase(shape, score, 0.7, 0.3));
      const std::vector<HostTensor> inputs = MakeInputs(c);
      EXPECT_NEAR(RunOp(c, inputs)[0].Get(0),
                  LossByHand(shape, inputs, score == "sigmoid", 0.7, 0.3), 1e-12);
    }
  }
}

// Every expert equally likely and equally loaded: alpha a unit of weight, not alpha / k.
TEST(RouterLoss, PerfectBalanceGivesAlphaWhateverK) {
  for (const int64_t k : {1, 2, 4}) {
    const std::vector<Dim> tokens = {{"batch", 1}, {"position", 4}};
    std::vector<double> ids;
    for (int64_t i = 0; i < 4 * k; ++i) ids.push_back(static_cast<double>(i % 4));
    const OpCase c = {
        .op = "router_loss",
        .attrs = {{"balance", 0.01}, {"z", 0.0}, {"group", int64_t{1}}, {"score", "softmax"}},
        .inputs = {Given({tokens[0], tokens[1], {"router_expert", 4}}, DType::kFloat32,
                         std::vector<double>(16, 0.5)),
                   Given({tokens[0], tokens[1], {"choice", k}}, DType::kInt32, ids),
                   Given(tokens, DType::kFloat32, {1, 2, 0, 1}),
                   Given(tokens, DType::kInt32, {0, 0, 0, 0})}};
    for (const bool cpu : {false, true}) {
      EXPECT_NEAR(RunOp(c, MakeInputs(c), {.cpu = cpu})[0].Get(0), 4 * 0.01, 1e-9) << k;
    }
  }
}

TEST(RouterLoss, CollapseGivesAlphaTimesExperts) {
  const std::vector<Dim> tokens = {{"batch", 1}, {"position", 2}};
  const OpCase c = {
      .op = "router_loss",
      .attrs = {{"balance", 0.5}, {"z", 0.0}, {"group", int64_t{1}}, {"score", "softmax"}},
      .inputs = {Given({tokens[0], tokens[1], {"router_expert", 3}}, DType::kFloat32,
                       {90, 0, 0, 90, 0, 0}),
                 Given({tokens[0], tokens[1], {"choice", 1}}, DType::kInt32, {0, 0}),
                 Given(tokens, DType::kFloat32, {1, 1}), Given(tokens, DType::kInt32, {0, 0})}};
  for (const bool cpu : {false, true}) {
    EXPECT_NEAR(RunOp(c, MakeInputs(c), {.cpu = cpu})[0].Get(0), 2 * 0.5 * 3, 1e-6);
  }
}

TEST(RouterLoss, PaddingDoesNotCountWhateverItHolds) {
  const OpCase c = LossCase({.group = 2}, "softmax", 0.7, 0.3);
  std::vector<HostTensor> inputs = MakeInputs(c);
  for (const bool cpu : {false, true}) {
    const double loss = RunOp(c, inputs, {.cpu = cpu})[0].Get(0);
    std::vector<HostTensor> other = inputs;
    for (int64_t e = 0; e < 6; ++e) other[0].Set(3 * 6 + e, std::nan(""));
    other[2].Set(3, 1e9);
    EXPECT_EQ(RunOp(c, other, {.cpu = cpu})[0].Get(0), loss);
  }
}

TEST(RouterLoss, GroupsWithoutValidTokensGiveZero) {
  OpCase c = LossCase({.batch = 2}, "softmax", 0.7, 0.3);
  std::vector<HostTensor> inputs = MakeInputs(c);
  for (const bool cpu : {false, true}) {
    inputs[3].Fill(-1);
    EXPECT_EQ(RunOp(c, inputs, {.cpu = cpu})[0].Get(0), 0);
  }
}

TEST(RouterLoss, RefusesGroupsThatDoNotDivideTheBatch) {
  ExpectInferError(LossCase({.batch = 4, .group = 3}, "softmax", 1, 0),
                   "balance groups of 3 sequences do not divide a batch of 4");
}

}  // namespace
}  // namespace trireme
