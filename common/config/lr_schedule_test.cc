// Learning rates equal the goldens computed from the formulas of Levanter's schedules, for every
// shape.
#include "common/config/lr_schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace trireme {
namespace {

struct Golden {
  std::string name;
  ScheduleSpec schedule;
  int64_t total;
  std::vector<std::pair<int64_t, double>> values;
};

ScheduleSpec Spec(const std::string& type, double min_ratio, double warmup, double decay = -1) {
  ScheduleSpec spec;
  spec.type = type;
  spec.min_ratio = min_ratio;
  spec.warmup = {true, warmup};
  spec.decay = {true, decay};
  return spec;
}

OptimizerSpec Peak(double rate) {
  OptimizerSpec optimizer;
  optimizer.learning_rate = rate;
  return optimizer;
}

TEST(LearningRateSchedule, EqualsTheGoldens) {
  ScheduleSpec two_cycles = Spec("cosine", 0.1, 0.1);
  two_cycles.cycles = 2;
  two_cycles.rewarmup = {true, 0.1};
  const Golden goldens[] = {
      {"cosine",
       Spec("cosine", 0.1, 0.1),
       100,
       {{0, 0},
        {5, .5},
        {9, .9},
        {10, 1},
        {11, .999726},
        {50, .628142},
        {55, .55},
        {80, .20528},
        {99, .100274},
        {100, .1}}},
      {"linear",
       Spec("linear", 0.1, 0.1),
       100,
       {{10, 1}, {11, .99}, {50, .6}, {80, .3}, {99, .11}}},
      {"wsd",
       Spec("linear", 0, 0.1, 0.2),
       100,
       {{10, 1}, {40, 1}, {80, 1}, {81, .95}, {90, .5}, {99, .05}, {100, 0}}},
      {"inv_sqrt",
       Spec("inv_sqrt", 0.1, 0.1),
       100000,
       {{5000, .5}, {10000, 1}, {11000, .953463}, {50000, .447214}, {80000, .353553}}},
      {"inv",
       Spec("inv", 0.1, 0.1),
       100,
       {{10, .909091}, {11, .909091}, {50, .2}, {80, .125}, {99, .10101}}},
      {"two cycles",
       two_cycles,
       100,
       {{5, 1},
        {9, .982568},
        {50, .1},
        {54, .82},
        {55, 1},
        {60, .972862},
        {80, .471858},
        {99, .101096}}},
      {"constant", Spec("constant", 0.1, 0.1), 100, {{0, 0}, {5, .5}, {10, 1}, {99, 1}, {100, 1}}},
  };
  for (const Golden& golden : goldens) {
    const auto rates = LearningRateSchedule::Create(Peak(1), golden.schedule, golden.total);
    ASSERT_TRUE(rates.ok()) << rates.status();
    for (const auto& [step, value] : golden.values) {
      EXPECT_NEAR(rates->At(step), value, 6e-7) << golden.name << " step " << step;
    }
  }
}

TEST(LearningRateSchedule, TableScalesWithThePeakAndHasOneValueAStep) {
  ScheduleSpec schedule = Spec("cosine", 0.1, 0);
  schedule.warmup = {false, 2};
  const auto table = LearningRateTable(Peak(1e-3), schedule, 20);
  ASSERT_TRUE(table.ok()) << table.status();
  ASSERT_EQ(table->size(), 20u);
  EXPECT_FLOAT_EQ((*table)[0], 0);
  EXPECT_FLOAT_EQ((*table)[1], 0.5e-3f);
  EXPECT_FLOAT_EQ((*table)[2], 1e-3f);
  EXPECT_GT((*table)[19], 1e-4f);
}

// A cycle's end is where the next one's rewarmup starts; uneven cycles cover every step.
TEST(LearningRateSchedule, UnevenCyclesCoverAllSteps) {
  ScheduleSpec schedule = Spec("linear", 0, 0);
  schedule.cycles = 3;
  const auto rates = LearningRateSchedule::Create(Peak(1), schedule, 10);
  ASSERT_TRUE(rates.ok()) << rates.status();
  for (const int64_t start : {0, 3, 6}) EXPECT_DOUBLE_EQ(rates->At(start), 1) << start;
  EXPECT_DOUBLE_EQ(rates->At(9), 0.25);
  EXPECT_DOUBLE_EQ(rates->At(10), 0);
  EXPECT_DOUBLE_EQ(rates->At(1000), 0);
}

TEST(LearningRateSchedule, SharesDoNotLoseAStepToRounding) {
  const auto rates = LearningRateSchedule::Create(Peak(1), Spec("constant", 0, 0.29), 100);
  ASSERT_TRUE(rates.ok());
  EXPECT_LT(rates->At(28), 1);
  EXPECT_DOUBLE_EQ(rates->At(29), 1);
}

TEST(LearningRateSchedule, RefusesWhatDoesNotFit) {
  const auto error = [](ScheduleSpec schedule, int64_t total) {
    const auto table = LearningRateTable(Peak(1), schedule, total);
    return table.ok() ? "no error" : std::string(ToStd(table.status().message()));
  };
  EXPECT_THAT(
      error(Spec("linear", 0, 0.6, 0.6), 100),
      testing::HasSubstr("schedule.warmup 60 steps and schedule.decay 60 steps do not fit"));
  ScheduleSpec long_warmup = Spec("linear", 0, 0);
  long_warmup.warmup = {false, 200};
  EXPECT_THAT(error(long_warmup, 100),
              testing::HasSubstr("warmup 200 steps do not fit in the 100"));
  ScheduleSpec many = Spec("linear", 0, 0);
  many.cycles = 11;
  EXPECT_THAT(error(many, 10), testing::HasSubstr("schedule.cycles 11 in 10 steps"));
  EXPECT_THAT(error(Spec("cosines", 0, 0), 10), testing::HasSubstr("try constant, cosine"));
  EXPECT_THAT(error(Spec("cosine", 0, 0), int64_t{1} << 40), testing::HasSubstr("train.steps"));
}

}  // namespace
}  // namespace trireme
