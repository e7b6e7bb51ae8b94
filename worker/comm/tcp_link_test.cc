// Data, end and abort reasons over a real pair of sockets.
#include "worker/comm/tcp_link.h"

#include <poll.h>
#include <sys/socket.h>

#include <memory>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace trireme {
namespace {

class TcpLinkTest : public ::testing::Test {
 protected:
  void SetUp() override {
    int data[2], abort[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, data), 0);
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, abort), 0);
    a_ = std::make_unique<TcpLink>(data[0], abort[0], 11);
    b_ = std::make_unique<TcpLink>(data[1], abort[1], 10);
  }
  std::unique_ptr<TcpLink> a_, b_;
};

TEST_F(TcpLinkTest, MovesBytesAndNeverWaits) {
  char out[4] = {'a', 'b', 'c', 'd'}, in[4] = {};
  const iovec all{in, 4};
  EXPECT_EQ(*b_->TryRecv(&all, 1), 0);
  const iovec parts[2] = {{out, 1}, {out + 1, 3}};
  EXPECT_EQ(*a_->TrySend(parts, 2), 4);
  EXPECT_EQ(*b_->TryRecv(&all, 1), 4);
  EXPECT_EQ(std::string(in, 4), "abcd");
}

// The data pipe is full, nobody reads it, and still the reason arrives.
TEST_F(TcpLinkTest, TheReasonOvertakesAFullPipe) {
  std::string block(1 << 16, 'x');
  const iovec part{block.data(), block.size()};
  while (*a_->TrySend(&part, 1) > 0) {
  }
  EXPECT_FALSE(b_->ReadAbort(0).has_value());
  a_->SendAbort("out of patience");
  EXPECT_EQ(b_->ReadAbort(1000), "out of patience");
}

TEST_F(TcpLinkTest, APeerThatIsGoneGaveNoReason) {
  a_.reset();
  char byte;
  const iovec part{&byte, 1};
  const Status status = b_->TryRecv(&part, 1).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr("rank 10"));
  EXPECT_FALSE(b_->ReadAbort(60000).has_value());  // at once, because the end is there
  EXPECT_EQ(b_->abort_fd(), -1);
}

}  // namespace
}  // namespace trireme
