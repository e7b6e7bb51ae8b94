// Each kind of warning, what it names, and when nothing is said.
#include "coordinator/service/router_warnings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace trireme {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

// Steps of a model with routers in layers 0 and 3, of 4 experts and 400 assignments each.
class RouterWarningsTest : public ::testing::Test {
 protected:
  RouterWarningsTest() : steps_(kWarningSteps) {
    for (v1::StepMetrics& step : steps_) {
      for (const int32_t layer : {0, 3}) {
        v1::RouterMetrics& router = *step.add_routers();
        router.set_layer(layer);
        router.set_assignments(400);
      }
      SetLoads(step, 0, {0.25, 0.25, 0.25, 0.25});
      SetLoads(step, 1, {0.25, 0.25, 0.25, 0.25});
    }
    spec_.model.type = "mixtral";
    spec_.model.experts.aux_loss_coef = 0.01;
  }

  static void SetLoads(v1::StepMetrics& step, int router, const std::vector<float>& loads) {
    step.mutable_routers(router)->mutable_loads()->Assign(loads.begin(), loads.end());
  }
  void SetLoads(int router, const std::vector<float>& loads) {
    for (v1::StepMetrics& step : steps_) SetLoads(step, router, loads);
  }

  std::vector<v1::RouterWarning> Warnings() const {
    std::vector<const v1::StepMetrics*> steps;
    for (const v1::StepMetrics& step : steps_) steps.push_back(&step);
    return RouterWarnings(steps, spec_);
  }

  std::vector<v1::StepMetrics> steps_;
  JobSpec spec_;
};

TEST_F(RouterWarningsTest, BalancedExpertsGiveNone) { EXPECT_THAT(Warnings(), IsEmpty()); }

TEST_F(RouterWarningsTest, NameTheBusiestExpert) {
  SetLoads(0, {0.125, 0.5625, 0.1875, 0.125});
  SetLoads(1, {0.625, 0.125, 0.125, 0.125});
  const auto warnings = Warnings();
  ASSERT_THAT(warnings, SizeIs(1));
  EXPECT_EQ(warnings[0].kind(), v1::RouterWarning::OVERLOADED);
  EXPECT_EQ(warnings[0].layer(), 3);
  EXPECT_EQ(warnings[0].expert(), 0);
  EXPECT_DOUBLE_EQ(warnings[0].figure(), 2.5);
  EXPECT_EQ(warnings[0].steps(), 20);
  EXPECT_EQ(warnings[0].text(),
            "layer 3: expert 0 gets 2.5 times the mean load over the last 20 steps; raise "
            "model.router_aux_loss_coef (0.01)");
}

TEST_F(RouterWarningsTest, JudgeTheMeanOfTheSteps) {
  // Twice the mean in every step is allowed, and so is more in one of them.
  SetLoads(1, {0.5, 0.25, 0.125, 0.125});
  EXPECT_THAT(Warnings(), IsEmpty());
  SetLoads(1, {0.4375, 0.3125, 0.125, 0.125});
  SetLoads(steps_[7], 1, {0.875, 0.0625, 0.0625, 0});
  EXPECT_THAT(Warnings(), IsEmpty());
}

TEST_F(RouterWarningsTest, NameExpertsThatGotNothing) {
  SetLoads(0, {0.5, 0.5, 0, 0});
  const auto warnings = Warnings();
  ASSERT_THAT(warnings, SizeIs(1));
  EXPECT_EQ(warnings[0].kind(), v1::RouterWarning::STARVED);
  EXPECT_EQ(warnings[0].layer(), 0);
  EXPECT_EQ(warnings[0].expert(), 2);
  EXPECT_EQ(warnings[0].figure(), 2);
  EXPECT_EQ(warnings[0].text(),
            "layer 0: expert 2 and 1 other of 4 got nothing over the last 20 steps; raise "
            "model.router_aux_loss_coef (0.01)");
  SetLoads(steps_[19], 0, {0.25, 0.25, 0.25, 0.25});  // one step is enough
  EXPECT_THAT(Warnings(), IsEmpty());
}

TEST_F(RouterWarningsTest, TellWhereAssignmentsAreDropped) {
  spec_.moe.capacity_factor = 1.25;
  for (v1::StepMetrics& step : steps_) step.mutable_routers(0)->set_receiver_dropped(4);
  EXPECT_THAT(Warnings(), IsEmpty());  // 1 %
  for (v1::StepMetrics& step : steps_) step.mutable_routers(1)->set_receiver_dropped(13);
  const auto warnings = Warnings();
  ASSERT_THAT(warnings, SizeIs(1));
  EXPECT_EQ(warnings[0].kind(), v1::RouterWarning::DROPPED);
  EXPECT_EQ(warnings[0].layer(), 3);
  EXPECT_EQ(warnings[0].expert(), -1);
  EXPECT_DOUBLE_EQ(warnings[0].figure(), 0.0325);
  EXPECT_EQ(warnings[0].text(),
            "layer 3 dropped 3.2 % of assignments at their receivers over the last 20 steps; "
            "raise moe.capacity_factor (1.25) or set it to none");
  for (v1::StepMetrics& step : steps_) step.mutable_routers(1)->set_sender_dropped(7);
  EXPECT_EQ(Warnings()[0].text(),
            "layer 3 dropped 5.0 % of assignments at their senders (1.8 %) and receivers over the "
            "last 20 steps; raise moe.capacity_factor (1.25) or set it to none");
}

TEST_F(RouterWarningsTest, AdviseWhatTheModelBalancesWith) {
  SetLoads(0, {0.625, 0.125, 0.125, 0.125});
  spec_.model.type = "grug_moe";
  EXPECT_THAT(Warnings()[0].text(),
              ::testing::HasSubstr("; raise moe.balance_group_sequences (1)"));
  spec_.model.type = "deepseek_moe";
  spec_.model.experts.bias_update_rate = 0.001;
  EXPECT_THAT(Warnings()[0].text(), ::testing::HasSubstr("; raise model.router_aux_loss_coef"));
  spec_.model.experts.aux_loss_coef = 0;
  EXPECT_THAT(Warnings()[0].text(),
              ::testing::HasSubstr("; raise model.router_bias_update_rate (0.001)"));
}

TEST_F(RouterWarningsTest, NeedEnoughStepsAndTokens) {
  SetLoads(0, {1, 0, 0, 0});
  ASSERT_THAT(Warnings(), SizeIs(2));
  for (v1::StepMetrics& step : steps_) step.mutable_routers(0)->set_assignments(3);  // 15 an expert
  EXPECT_THAT(Warnings(), IsEmpty());
  for (v1::StepMetrics& step : steps_) step.mutable_routers(0)->set_assignments(400);
  steps_.pop_back();
  EXPECT_THAT(Warnings(), IsEmpty());
}

TEST_F(RouterWarningsTest, DenseModelsGiveNone) {
  for (v1::StepMetrics& step : steps_) step.clear_routers();
  EXPECT_THAT(Warnings(), IsEmpty());
}

}  // namespace
}  // namespace trireme
