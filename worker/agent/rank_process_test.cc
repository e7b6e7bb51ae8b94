// Processes of the shell stand in for ranks: what they say, how they end, and that none is left
// behind.
#include "worker/agent/rank_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <future>

namespace trireme {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Heard {
  std::vector<v1::RankEvent> events;
  std::vector<std::string> lines;
  std::promise<int> exited;

  RankProcess::Callbacks Callbacks() {
    return {[this](const v1::RankEvent& event) { events.push_back(event); },
            [this](const std::string& line) { lines.push_back(line); },
            [this](int status) { exited.set_value(status); }};
  }
};

StatusOr<std::unique_ptr<RankProcess>> Shell(const std::string& script, Heard& heard) {
  return RankProcess::Start({"/bin/sh", "-c", script, "sh", "{fd}"}, heard.Callbacks());
}

TEST(RankProcess, PassesOnMessagesLinesAndTheExitCode) {
  Heard heard;
  // A RankEvent {log {line: "hi"}}: field 7, length 4, field 1, length 2.
  auto process = Shell(R"(printf '\006\000\000\000\072\004\012\002hi' >&3; echo one >&2;
                          printf two >&2; test "$1" = 3 && exit 5)",
                       heard);
  ASSERT_TRUE(process.ok()) << process.status();
  const int status = heard.exited.get_future().get();
  EXPECT_EQ(DescribeExit(status), "exited with code 5");
  ASSERT_EQ(heard.events.size(), 1u);
  EXPECT_EQ(heard.events[0].log().line(), "hi");
  EXPECT_THAT(heard.lines, ElementsAre("one", "two"));
}

TEST(RankProcess, SendsCommandsWithTheirLength) {
  Heard heard;
  v1::RankCommand command;
  command.mutable_start()->set_job("tiny");  // 2 + 2 + 4 bytes
  auto process = Shell("dd bs=1 count=12 <&3 2>/dev/null | od -An -tu1 >&2", heard);
  ASSERT_TRUE(process.ok());
  (*process)->Send(command);
  heard.exited.get_future().get();
  ASSERT_EQ(heard.lines.size(), 1u);
  EXPECT_THAT(heard.lines[0], HasSubstr("8   0   0   0  10   6  10   4 116 105 110 121"));
}

TEST(RankProcess, NamesTheSignal) {
  Heard heard;
  auto process = Shell("kill -9 $$", heard);
  ASSERT_TRUE(process.ok());
  EXPECT_THAT(DescribeExit(heard.exited.get_future().get()), HasSubstr("killed by signal 9"));
}

TEST(RankProcess, LeavesNothingBehind) {
  Heard heard;
  auto process = Shell("exec sleep 1000", heard);
  ASSERT_TRUE(process.ok());
  const pid_t pid = (*process)->pid();
  process->reset();
  EXPECT_THAT(DescribeExit(heard.exited.get_future().get()), HasSubstr("signal 9"));
  EXPECT_NE(kill(pid, 0), 0);
}

TEST(RankProcess, AMissingProgramIsAnError) {
  Heard heard;
  const auto process = RankProcess::Start({"/none/such"}, heard.Callbacks());
  EXPECT_EQ(process.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(ToStd(process.status().message())), HasSubstr("/none/such"));
}

}  // namespace
}  // namespace trireme
