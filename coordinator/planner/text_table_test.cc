// What people read lines up, whatever the cells hold.
#include "coordinator/planner/text_table.h"

#include "gtest/gtest.h"

namespace trireme {
namespace {

TEST(HumanBytes, KeepsOneDecimalAndPicksTheUnit) {
  EXPECT_EQ(HumanBytes(0), "0 B");
  EXPECT_EQ(HumanBytes(1023), "1023 B");
  EXPECT_EQ(HumanBytes(1024), "1.0 KiB");
  EXPECT_EQ(HumanBytes(1536), "1.5 KiB");
  EXPECT_EQ(HumanBytes((int64_t{1} << 20) - 1), "1.0 MiB");
  EXPECT_EQ(HumanBytes(int64_t{80} << 30), "80.0 GiB");
}

TEST(RunsText, JoinsNeighbours) {
  EXPECT_EQ(RunsText({}), "");
  EXPECT_EQ(RunsText({5}), "5");
  EXPECT_EQ(RunsText({0, 1, 2, 3, 8, 9, 12}), "0-3, 8-9, 12");
}

TEST(TextTable, AlignsNumbersRightAndWordsLeft) {
  TextTable table({"op", "count", "fabric"});
  table.AddRow({"all_reduce", "4", "ici"});
  table.AddRow({"send", "12", "dcn"});
  EXPECT_EQ(table.ToText(2),
            "  op          count  fabric\n"
            "  all_reduce      4  ici\n"
            "  send           12  dcn\n");
}

TEST(TextTable, ShortRowsLeaveNoTrailingSpaces) {
  TextTable table({"name", "reason"});
  table.AddRow({"a-long-name"});
  EXPECT_EQ(table.ToText(), "name         reason\na-long-name\n");
}

}  // namespace
}  // namespace trireme
