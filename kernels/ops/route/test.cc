// The router: gradients where no choice can flip, fast = reference, splits, choices and weights by
// hand, ties, NaNs, padding.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "kernels/ops/route/test_cases.h"

namespace trireme {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Attrs RouteAttrs(const RouterForm& form, int64_t k) {
  return {{"k", k},
          {"score", form.score},
          {"bias_to", form.bias_to},
          {"renormalise", form.renormalise},
          {"total", form.total},
          {"eps", form.eps}};
}

// Random logits, or `logits`; a bias of experts `bias` or random; some tokens are padding.
OpCase RouteCase(const RouterForm& form, int64_t batch, int64_t experts, int64_t k) {
  const std::vector<Dim> tokens = {{"batch", batch}, {"position", 3}};
  OpCase c = {.op = "route",
              .attrs = RouteAttrs(form, k),
              .inputs = {Normal({tokens[0], tokens[1], {"router_expert", experts}})},
              .grad_inputs = {0},
              .grad_outputs = {1}};
  if (form.has_bias()) c.inputs.push_back(Normal({{"router_expert", experts}}));
  c.inputs.push_back(Given(tokens, DType::kInt32, SomePadding(3 * batch)));
  return c;
}

// One token, logits and (when the form has one) bias given.
OpCase OneToken(const RouterForm& form, const std::vector<double>& logits, int64_t k,
                const std::vector<double>& bias = {}) {
  const Dim experts = {"router_expert", static_cast<int64_t>(logits.size())};
  OpCase c = {.op = "route",
              .attrs = RouteAttrs(form, k),
              .inputs = {Given({{"batch", 1}, experts}, DType::kFloat32, logits)}};
  if (form.has_bias()) c.inputs.push_back(Given({experts}, DType::kFloat32, bias));
  c.inputs.push_back(Given({{"batch", 1}}, DType::kInt32, {0}));
  return c;
}

std::vector<double> IdsOf(const OpCase& c, bool cpu) {
  return RunOp(c, MakeInputs(c), {.cpu = cpu})[0].Values();
}

double Sigmoid(double z) { return 1 / (1 + std::exp(-z)); }

// Logits lie at least 0.3 apart; biases lie so far apart that they alone decide.
TEST(Route, GradientIsRight) {
  const int64_t experts = 5;
  for (const RouterForm& form : AllForms()) {
    for (const int64_t k : {1, 2, 5}) {
      OpCase c = RouteCase(form, 2, experts, k);
      c.inputs[0].data = DataKind::kGiven;
      c.inputs[0].values = GappedLogits(6, experts);
      std::vector<double> scores = c.inputs[0].values;
      if (form.has_bias()) {
        const double step = form.bias_to == "scores" ? 2 : 4;
        c.inputs[1] = Given({{"router_expert", experts}}, DType::kFloat32,
                            {step, 3 * step, 0, 2 * step, -step});
        for (size_t i = 0; i < scores.size(); ++i) {
          if (form.bias_to == "scores") scores[i] = 0;  // they move s by less than 1
          scores[i] += c.inputs[1].values[i % experts];
        }
      }
      ASSERT_GT(SmallestGap(scores, experts, k), 0.2);
      CheckGradient(c);
    }
  }
}

TEST(Route, CpuMatchesReference) {
  for (const RouterForm& form : AllForms()) {
    CheckCpuMatchesReference(RouteCase(form, 5, 7, 3), 1e-5);
    CheckCpuMatchesReference(RouteCase(form, 1, 1, 1), 1e-5);
    CheckCpuMatchesReference(RouteCase(form, 4, 6, 6), 1e-5);
    CheckCpuMatchesReference(RouteCase(form, 40, 64, 8), 1e-5);
  }
  CheckCpuMatchesReference(RouteCase(MixtralForm(), 5, 1024, 16), 1e-5);
}

TEST(Route, EverySplitGivesTheSame) {
  for (const RouterForm& form : AllForms()) CheckEverySharding(RouteCase(form, 6, 4, 2));
}

TEST(Route, WeightsAreTheSoftmaxOfTheChosen) {
  const OpCase c = InFloat64(OneToken(MixtralForm(), {std::log(1), std::log(6), std::log(2)}, 2));
  const std::vector<HostTensor> outputs = RunOp(c, MakeInputs(c));
  EXPECT_EQ(outputs[0].Values(), (std::vector<double>{1, 2}));
  EXPECT_NEAR(outputs[1].Get(0), 0.75, 1e-15);
  EXPECT_NEAR(outputs[1].Get(1), 0.25, 1e-15);
}

// Mixtral's formula as published: probabilities over all experts, divided by the sum of the chosen.
TEST(Route, RenormalisedSoftmaxIsProbabilityOverTheSumOfTheChosen) {
  const std::vector<double> z = {0.5, -1, 2, 1};
  const OpCase c = InFloat64(OneToken(MixtralForm(), z, 2));
  const HostTensor weights = RunOp(c, MakeInputs(c))[1];
  double sum = 0;
  for (const double value : z) sum += std::exp(value);
  const double p2 = std::exp(2) / sum, p3 = std::exp(1) / sum;
  EXPECT_NEAR(weights.Get(0), p2 / (p2 + p3), 1e-14);
  EXPECT_NEAR(weights.Get(1), p3 / (p2 + p3), 1e-14);
}

TEST(Route, BiasChoosesAndDoesNotWeigh) {
  for (const std::string to : {"logits", "scores"}) {
    const RouterForm form = {"sigmoid", to, 0, 1, 0};
    const OpCase c = InFloat64(OneToken(form, {2, 0.5, -1}, 2, {-9, 0, 8}));
    const std::vector<HostTensor> outputs = RunOp(c, MakeInputs(c));
    EXPECT_EQ(outputs[0].Values(), (std::vector<double>{2, 1})) << to;
    EXPECT_NEAR(outputs[1].Get(0), Sigmoid(-1), 1e-15);
    EXPECT_NEAR(outputs[1].Get(1), Sigmoid(0.5), 1e-15);
  }
}

// A bias of 0.3 moves a sigmoid of 0.5 past one of 0.73, but a logit of 0 not past one of 1.
TEST(Route, BiasIsAddedToWhatTheFormSays) {
  for (const bool cpu : {false, true}) {
    EXPECT_EQ(IdsOf(OneToken({"sigmoid", "scores", 1, 1, 0}, {1, 0}, 1, {0, 0.3}), cpu)[0], 1);
    EXPECT_EQ(IdsOf(OneToken({"sigmoid", "logits", 1, 1, 0}, {1, 0}, 1, {0, 0.3}), cpu)[0], 0);
  }
}

TEST(Route, GrugWeightsSumTo2Point5) {
  const OpCase c = RouteCase(GrugForm(), 8, 16, 4);
  for (const bool cpu : {false, true}) {
    const HostTensor weights = RunOp(c, MakeInputs(c), {.cpu = cpu})[1];
    for (int64_t token = 0; token < 24; ++token) {
      double sum = 0;
      for (int64_t choice = 0; choice < 4; ++choice) sum += weights.Get(token * 4 + choice);
      EXPECT_NEAR(sum, token % 5 == 3 ? 0 : 2.5, 1e-6) << token;
    }
  }
}

// Experts whose probability is 0 in any precision still get weights that sum to 1.
TEST(Route, UnlikelyExpertsThatABiasChoseGetFiniteWeights) {
  const RouterForm form = {"softmax", "logits", 1, 1, 0};
  const OpCase c = OneToken(form, {1000, -1000, -1000}, 2, {-9000, 0, 0});
  for (const bool cpu : {false, true}) {
    const HostTensor weights = RunOp(c, MakeInputs(c), {.cpu = cpu})[1];
    EXPECT_EQ(weights.Values(), (std::vector<double>{0.5, 0.5}));
  }
}

TEST(Route, TiesGoToTheLowerId) {
  const OpCase c = OneToken(MixtralForm(), {1, 2, 2, 1, 2, -0.0, 0.0}, 6);
  for (const bool cpu : {false, true}) {
    EXPECT_EQ(IdsOf(c, cpu), (std::vector<double>{1, 2, 4, 0, 3, 5}));
  }
  CheckCpuMatchesReference(c, 1e-6);
}

TEST(Route, NansComeFirstAndIdsStayValidAndDifferent) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const bool cpu : {false, true}) {
    EXPECT_EQ(IdsOf(OneToken(MixtralForm(), {kNan, kNan, kNan}, 2), cpu),
              (std::vector<double>{0, 1}));
    EXPECT_EQ(IdsOf(OneToken(MixtralForm(), {3, -infinity, kNan, infinity, -kNan}, 5), cpu),
              (std::vector<double>{2, 4, 3, 0, 1}));
    const OpCase c = OneToken(GrugForm(), {1, kNan, 2}, 2, {0, 0, 0});
    const std::vector<HostTensor> outputs = RunOp(c, MakeInputs(c), {.cpu = cpu});
    EXPECT_EQ(outputs[0].Values(), (std::vector<double>{1, 2}));
    EXPECT_TRUE(std::isnan(outputs[1].Get(0))) << "a bad router must show in the loss";
  }
}

TEST(Route, PaddingChoosesNobodyWhateverItHolds) {
  for (const RouterForm& form : AllForms()) {
    OpCase c = RouteCase(form, 2, 4, 2);
    std::vector<HostTensor> inputs = MakeInputs(c);
    for (int64_t e = 0; e < 4; ++e) inputs[0].Set(3 * 4 + e, kNan);
    for (const bool cpu : {false, true}) {
      const std::vector<HostTensor> outputs = RunOp(c, inputs, {.cpu = cpu});
      for (int64_t token = 0; token < 6; ++token) {
        for (int64_t choice = 2 * token; choice < 2 * token + 2; ++choice) {
          EXPECT_EQ(outputs[0].Get(choice) < 0, token == 3);
          EXPECT_EQ(outputs[1].Get(choice) == 0, token == 3);
        }
      }
      EXPECT_EQ(outputs[0].Get(6), -1);
    }
  }
}

TEST(Route, ChoosingAllExpertsSortsThem) {
  for (const bool cpu : {false, true}) {
    const OpCase c = RouteCase(MixtralForm(), 1, 9, 9);
    const std::vector<HostTensor> inputs = MakeInputs(c);
    const std::vector<double> ids = RunOp(c, inputs, {.cpu = cpu})[0].Values();
    EXPECT_EQ(std::set<double>(ids.begin(), ids.begin() + 9).size(), 9u);
    for (int64_t choice = 1; choice < 9; ++choice) {
      EXPECT_GT(inputs[0].Get(static_cast<int64_t>(ids[choice - 1])),
                inputs[0].Get(static_cast<int64_t>(ids[choice])));
    }
  }
}

TEST(Route, RefusesWhatItCannotDo) {
  ExpectInferError(RouteCase(MixtralForm(), 1, 3, 4), "k=4 must be between 1 and the 3 experts");
  ExpectInferError(RouteCase({"relu"}, 1, 3, 2), "score=relu must be softmax or sigmoid");
  ExpectInferError(RouteCase({"softmax", "weights"}, 1, 3, 2),
                   "bias_to=weights must be none, logits or scores");
  OpCase c = RouteCase(GrugForm(), 1, 3, 2);
  c.inputs.erase(c.inputs.begin() + 1);
  ExpectInferError(c, "route");
}

}  // namespace
}  // namespace trireme
