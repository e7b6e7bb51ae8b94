// Cursors over lines and steps, and the limits of what is kept.
#include "coordinator/service/journal.h"

#include <gtest/gtest.h>

namespace trireme {
namespace {

v1::LogLine Line(const std::string& text) {
  v1::LogLine line;
  line.set_text(text);
  return line;
}

TEST(Journal, ReadsLinesWithACursor) {
  Journal journal;
  EXPECT_EQ(journal.NextLine(0), nullptr);
  for (const char* text : {"a", "b", "c"}) journal.AddLine(Line(text));
  EXPECT_EQ(journal.NextLine(0)->text(), "a");
  EXPECT_EQ(journal.NextLine(2)->text(), "c");
  EXPECT_EQ(journal.NextLine(3), nullptr);
  EXPECT_EQ(journal.SequenceBefore(0), 0);
  EXPECT_EQ(journal.SequenceBefore(2), 1);
  EXPECT_EQ(journal.SequenceBefore(9), 0);
}

TEST(Journal, KeepsTheNewestLinesAndCutsLongOnes) {
  Journal journal;
  for (size_t i = 0; i < kMaxLogLines + 5; ++i) journal.AddLine(Line(std::to_string(i)));
  EXPECT_EQ(journal.NextLine(0)->text(), "5");
  journal.AddLine(Line(std::string(10 * kMaxLogLineBytes, 'x')));
  EXPECT_EQ(journal.NextLine(static_cast<int64_t>(kMaxLogLines) + 5)->text().size(),
            kMaxLogLineBytes);
}

TEST(Journal, ALaterAttemptReplacesItsSteps) {
  Journal journal;
  v1::StepMetrics metrics;
  for (int64_t step : {1, 2, 3}) {
    metrics.set_step(step);
    journal.AddStep(1, metrics);
  }
  metrics.set_step(2);
  journal.AddStep(2, metrics);
  EXPECT_EQ(journal.NextStep(0)->metrics.step(), 1);
  EXPECT_EQ(journal.NextStep(2)->attempt, 2);
  EXPECT_EQ(journal.NextStep(4), nullptr);
}

v1::StepMetrics StepWithRouters(int64_t step, int layers, int experts) {
  v1::StepMetrics metrics;
  metrics.set_step(step);
  metrics.mutable_router()->set_assignments(step);
  for (int i = 0; i < layers; ++i) {
    v1::RouterMetrics& router = *metrics.add_routers();
    router.set_layer(i);
    router.set_assignments(1000000);
    router.set_skipped_padding(1000);
    router.set_routing_entropy(1.5);
    router.set_load_balancing_loss(1.5);
    router.set_router_z_loss(1.5);
    router.mutable_loads()->Resize(experts, 0.5f);
  }
  return metrics;
}

int64_t NumWithRouters(const Journal& journal) {
  int64_t count = 0;
  const Journal::Step* step = journal.NextStep(0);
  for (; step != nullptr; step = journal.NextStep(step->metrics.step() + 1)) {
    count += step->metrics.routers().empty() ? 0 : 1;
  }
  return count;
}

TEST(Journal, KeepsRoutersOfTheNewestStepsAndOfSomeOlderOnes) {
  Journal journal;
  for (int64_t step = 1; step <= 3 * kRouterSteps; ++step) {
    journal.AddStep(1, StepWithRouters(step, 1, 2));
  }
  EXPECT_EQ(NumWithRouters(journal), kRouterSteps + 2 * kRouterSteps / kRouterStride);
  const Journal::Step* old = journal.NextStep(1);
  EXPECT_EQ(old->metrics.router().assignments(), 1);  // totals stay
  EXPECT_TRUE(old->metrics.routers().empty());
  EXPECT_FALSE(journal.NextStep(kRouterStride)->metrics.routers().empty());
  EXPECT_TRUE(journal.NextStep(2 * kRouterSteps - 1)->metrics.routers().empty());
  EXPECT_FALSE(journal.NextStep(2 * kRouterSteps + 1)->metrics.routers().empty());
  // Another attempt starts over: steps that it does again are as new as any.
  for (int64_t step = 501; step <= 600 + kRouterSteps; ++step) {
    journal.AddStep(2, StepWithRouters(step, 1, 2));
  }
  EXPECT_TRUE(journal.NextStep(599)->metrics.routers().empty());
  EXPECT_FALSE(journal.NextStep(601)->metrics.routers().empty());
}

TEST(Journal, RoutersOfAStepAreAsLargeAsIsSaid) {
  const v1::StepMetrics step = StepWithRouters(1, 58, 256);
  EXPECT_NEAR(static_cast<double>(step.SpaceUsedLong()), 66e3, 4e3);
  EXPECT_LT(step.ByteSizeLong(), 66e3);  // and on the wire
}

TEST(Journal, GivesTheNewestStepsOfAnAttempt) {
  Journal journal;
  EXPECT_TRUE(journal.NewestSteps(3).empty());
  for (int64_t step : {1, 2, 3, 4}) journal.AddStep(1, StepWithRouters(step, 0, 0));
  ASSERT_EQ(journal.NewestSteps(3).size(), 3u);
  EXPECT_EQ(journal.NewestSteps(3)[0]->step(), 2);
  EXPECT_EQ(journal.NewestSteps(9).size(), 4u);
  for (int64_t step : {2, 3}) journal.AddStep(2, StepWithRouters(step, 0, 0));
  ASSERT_EQ(journal.NewestSteps(3).size(), 2u);  // 4 is of the attempt before
  EXPECT_EQ(journal.NewestSteps(3)[1]->step(), 3);
}

}  // namespace
}  // namespace trireme
