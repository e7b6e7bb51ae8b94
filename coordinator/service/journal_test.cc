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

TEST(Journal, ALaterAttemptReplacesASteps) {
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

}  // namespace
}  // namespace trireme
