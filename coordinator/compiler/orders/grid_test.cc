// The grid as text: whole, with transfers, cut, and with a marked cell.
#include "coordinator/compiler/orders/grid.h"

#include <gtest/gtest.h>

#include <sstream>

#include "coordinator/compiler/orders/testing.h"

namespace trireme {
namespace {

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::vector<std::string> GridLines(std::string_view order, int p, int m,
                                   const GridOptions& options = {}) {
  const Simulated run = Simulate(order, p, m);
  return Lines(ScheduleGrid(run.schedules, run.timeline, options));
}

TEST(Grid, OneFOneB) {
  const std::vector<std::string> lines = GridLines("1f1b", 2, 2);
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0], "stage 0 | F0 F1 .  .  B0--- .  B1---");
  EXPECT_EQ(lines[1], "stage 1 | .  F0 B0--- F1 B1--- .  .");
  EXPECT_EQ(lines[2].substr(0, 16), "one column is 1;");
}

TEST(Grid, ChunksAreLetters) {
  const std::vector<std::string> lines = GridLines("zero_bubble_v", 1, 2);
  EXPECT_EQ(lines[0], "stage 0 | F0  F0b B0b W0b F1  B0  W0  F1b B1b W1b B1  W1");
}

TEST(Grid, CutSaysSo) {
  const std::vector<std::string> lines = GridLines("1f1b", 4, 16, {.width = 60});
  for (int s = 0; s < 4; ++s) EXPECT_LE(lines[s].size(), 60u);
  EXPECT_EQ(lines.back().substr(0, 5), "cut: ") << lines.back();
}

TEST(Grid, ShortItemsKeepAColumnWhereTheGridFits) {
  const Simulated run = Simulate("1f1b", 1, 2);
  ScheduleCosts costs = EqualCosts(false);
  costs.run = [](int32_t, Phase phase, int32_t) {
    return phase == Phase::kForward ? 0.001 : phase == Phase::kBackward ? 1.0 : 0.0;
  };
  const Timeline timeline = SimulateSchedules(run.schedules, costs);
  const std::vector<std::string> lines =
      Lines(ScheduleGrid(run.schedules, timeline, {.width = 25, .unit = " s"}));
  EXPECT_EQ(lines[0].substr(0, 12), "stage 0 | F0");
  EXPECT_LE(lines[0].size(), 25u);
  EXPECT_NE(lines[0].find("B0"), std::string::npos);
  EXPECT_NE(lines[0].find("F1"), std::string::npos);
  EXPECT_NE(lines[1].find(" s;"), std::string::npos);
}

// U1 and U2 are short and take a column each: the other columns make room for them.
TEST(Grid, ShortItemsDoNotPushTheEndOffThePage) {
  const Simulated run = Simulate("1f1b", 2, 4);
  ScheduleCosts costs = EqualCosts(false);
  costs.run = [equal = costs.run](int32_t stage, Phase phase, int32_t chunk) {
    return phase == Phase::kUpdate1 || phase == Phase::kUpdate2 ? 0.01 : equal(stage, phase, chunk);
  };
  const Timeline timeline = SimulateSchedules(run.schedules, costs);
  const std::string text = ScheduleGrid(run.schedules, timeline);
  EXPECT_EQ(text.find("cut:"), std::string::npos) << text;
  EXPECT_NE(text.find("U1 U2"), std::string::npos) << text;
}

TEST(Grid, TransfersShow) {
  const Simulated run = Simulate("gpipe", 2, 1);
  ScheduleCosts costs = EqualCosts(false);
  costs.transfer = [](int32_t, int32_t, bool gradient) { return gradient ? 0.0 : 2.0; };
  const Timeline timeline = SimulateSchedules(run.schedules, costs);
  const std::vector<std::string> lines = Lines(ScheduleGrid(run.schedules, timeline));
  EXPECT_EQ(lines[1], "stage 1 | .  ~~~~~ F0 B0--- .  .") << lines[0];
}

TEST(Grid, MarkedCells) {
  const Simulated run = Simulate("1f1b", 2, 2);
  EXPECT_EQ(GridLines("1f1b", 2, 2, {.mark_stage = 1, .mark_item = 3})[1],
            "stage 1 | .    F0   [B0]----- F1   B1------- .    .");
  const std::string never =
      ScheduleGrid(run.schedules, run.timeline, {.mark_stage = 0, .mark_item = 2});
  EXPECT_NE(never.find("F0 [!]"), std::string::npos) << never;
}

// However far right, the fault is on the page.
TEST(Grid, MarkedCellIsNeverCut) {
  const Simulated run = Simulate("1f1b", 2, 16);
  const int last = static_cast<int>(run.schedules[0].items.size()) - 3;
  const std::string text =
      ScheduleGrid(run.schedules, run.timeline, {.width = 60, .mark_stage = 0, .mark_item = last});
  EXPECT_NE(text.find("[B15]"), std::string::npos) << text;
}

}  // namespace
}  // namespace trireme
