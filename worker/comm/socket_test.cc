// Listening, dialling and whole messages, with their errors.
#include "worker/comm/socket.h"

#include <string>

#include "gtest/gtest.h"

namespace trireme {
namespace {

Deadline In(int ms) { return std::chrono::steady_clock::now() + std::chrono::milliseconds(ms); }

TEST(Socket, AMessageCrosses) {
  auto listener = Listener::Bind();
  ASSERT_TRUE(listener.ok()) << listener.status();
  EXPECT_EQ(listener->address(), "127.0.0.1:" + std::to_string(listener->port()));
  EXPECT_LT(listener->TryAccept().get(), 0);
  auto client = Dial(listener->address(), In(30000));
  ASSERT_TRUE(client.ok()) << client.status();
  OwnedFd server = listener->TryAccept();
  ASSERT_GE(server.get(), 0);
  ASSERT_TRUE(SendAll(client->get(), "trireme", 7, In(30000)).ok());
  std::string got(7, 0);
  ASSERT_TRUE(RecvAll(server.get(), got.data(), 7, In(30000)).ok());
  EXPECT_EQ(got, "trireme");
  EXPECT_EQ(RecvAll(server.get(), got.data(), 1, In(0)).code(),
            absl::StatusCode::kDeadlineExceeded);
  *client = OwnedFd();
}

TEST(Socket, WrongAddressesAreNamed) {
  for (const std::string address : {"", "nowhere", ":1", "127.0.0.1:", "127.0.0.1:x"}) {
    EXPECT_EQ(Dial(address, In(0)).status().code(), absl::StatusCode::kInvalidArgument) << address;
    EXPECT_EQ(Listener::Bind(address).status().code(), absl::StatusCode::kInvalidArgument);
  }
}

TEST(Socket, ATakenPortIsUnavailable) {
  auto listener = Listener::Bind();
  ASSERT_TRUE(listener.ok());
  EXPECT_EQ(Listener::Bind(listener->address()).status().code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace trireme
