// A watched channel tells a stop from a daemon that is gone.
#include "worker/rank/control.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <future>

#include "worker/rank/frames.h"

namespace trireme {
namespace {

TEST(Control, StopIsSeenAndTheEndOfTheDaemonIsTold) {
  int fds[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
  v1::RankCommand command;
  command.mutable_start()->set_job("tiny");
  ASSERT_TRUE(WriteFrame(fds[1], command.SerializeAsString()).ok());
  command.mutable_stop();
  ASSERT_TRUE(WriteFrame(fds[1], command.SerializeAsString()).ok());
  std::promise<std::string> gone;
  {
    Control control(fds[0]);
    const auto start = control.Read();
    ASSERT_TRUE(start.ok());
    EXPECT_EQ(start->start().job(), "tiny");
    EXPECT_FALSE(control.stop_requested());
    control.Watch([&](const std::string& reason) { gone.set_value(reason); });
    ::close(fds[1]);
    EXPECT_NE(gone.get_future().get().find("daemon"), std::string::npos);
    EXPECT_TRUE(control.stop_requested());  // it came before the end
    EXPECT_EQ(control.Send(v1::RankEvent()).code(), absl::StatusCode::kAborted);
  }
  ::close(fds[0]);
}

TEST(Control, GarbageIsNoCommand) {
  int fds[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
  ASSERT_TRUE(WriteFrame(fds[1], "\xff\xff garbage").ok());
  {
    Control control(fds[0]);
    EXPECT_EQ(control.Read().status().code(), absl::StatusCode::kInvalidArgument);
    control.Watch([](const std::string&) {});  // and its thread ends with it
  }
  ::close(fds[0]);
  ::close(fds[1]);
}

}  // namespace
}  // namespace trireme
