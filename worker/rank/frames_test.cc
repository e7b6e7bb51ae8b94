// Frames arrive whole or not at all, and a wild length is refused before memory is asked for.
#include "worker/rank/frames.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

namespace trireme {
namespace {

class Frames : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, fds_), 0); }
  void TearDown() override {
    ::close(fds_[0]);
    if (fds_[1] >= 0) ::close(fds_[1]);
  }
  void CloseFarEnd() {
    ::close(fds_[1]);
    fds_[1] = -1;
  }
  int fds_[2];
};

TEST_F(Frames, KeepTheirBytesAndOrder) {
  const std::string large(3000000, 'x');  // more than a socket buffer
  std::thread writer([&] {
    for (const std::string& frame : {std::string("one"), std::string(), large}) {
      EXPECT_TRUE(WriteFrame(fds_[1], frame).ok());
    }
    CloseFarEnd();
  });
  for (const std::string& frame : {std::string("one"), std::string(), large}) {
    const auto read = ReadFrame(fds_[0]);
    ASSERT_TRUE(read.ok() && read->has_value());
    EXPECT_EQ(**read, frame);
  }
  writer.join();
  const auto end = ReadFrame(fds_[0]);
  ASSERT_TRUE(end.ok());
  EXPECT_FALSE(end->has_value());
}

TEST_F(Frames, RefuseWildLengthsAndTornFrames) {
  ASSERT_TRUE(WriteFrame(fds_[1], "four").ok());
  EXPECT_EQ(ReadFrame(fds_[0], 3).status().code(), absl::StatusCode::kInvalidArgument);
  char rest[4];
  ASSERT_EQ(::read(fds_[0], rest, 4), 4);
  ASSERT_EQ(::write(fds_[1], "\x05\0\0\0ab", 6), 6);
  CloseFarEnd();
  EXPECT_EQ(ReadFrame(fds_[0]).status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(Frames, WritingToNobodyIsAnErrorAndNoSignal) {
  CloseFarEnd();
  EXPECT_EQ(WriteFrame(fds_[0], "hello").code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace trireme
