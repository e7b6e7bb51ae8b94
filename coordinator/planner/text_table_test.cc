// What people read lines up, whatever the cells hold.
#include "coordinator/planner/text_table.h"

#include "gtest/gtest.h"

namespace trireme {
namespace {

TEST(HumanSeconds, HasThreeDigits) {
  const std::pair<double, const char*> cases[] = {
      {0, "0 s"},          {1e-12, "0 s"},     {2e-6, "2 us"},       {1.234e-5, "12.3 us"},
      {0.0009996, "1 ms"}, {0.1234, "123 ms"}, {0.00315, "3.15 ms"}, {0.9999, "1 s"},
      {4.5678, "4.57 s"},  {7890.1, "7890 s"}};
  for (const auto& [seconds, text] : cases) EXPECT_EQ(HumanSeconds(seconds), text) << seconds;
}

TEST(ShortCount, HasThreeDigits) {
  const std::pair<double, const char*> cases[] = {
      {0, "0"}, {950, "950"}, {999.7, "1k"}, {12345, "12.3k"}, {4.561e6, "4.56M"}};
  for (const auto& [count, text] : cases) EXPECT_EQ(ShortCount(count), text) << count;
}

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
