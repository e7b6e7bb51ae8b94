// Which callers are let in.
#include "worker/comm/hello.h"

#include <string>

#include "gtest/gtest.h"

namespace trireme {
namespace {

HelloPolicy Rank(int32_t rank) {
  return {.attempt = 4, .rank = rank, .size = 3, .token = "secret"};
}

TEST(Hello, AHigherRankOfTheSameAttemptIsAccepted) {
  EXPECT_TRUE(CheckHello(Rank(0), MakeHello(Rank(2), 0, Channel::kAbort)).ok());
  EXPECT_TRUE(CheckReply(MakeReply({})).ok());
}

TEST(Hello, EverythingElseIsRefused) {
  const auto refused = [](const Hello& hello) {
    const Status status = CheckReply(MakeReply(CheckHello(Rank(1), hello)));
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    return std::string(status.message());
  };
  EXPECT_NE(refused(MakeHello(Rank(2), 0, Channel::kData)).find("called rank 0"),
            std::string::npos);
  EXPECT_NE(refused(MakeHello(Rank(0), 1, Channel::kData)).find("higher ranks call lower"),
            std::string::npos);
  HelloPolicy newer = Rank(2);
  newer.attempt = 5;
  EXPECT_EQ(refused(MakeHello(newer, 1, Channel::kData)),
            "rank 2 is of attempt 5, rank 1 of attempt 4; the newer one is refused");
  for (const std::string token : {"", "secreT", "secret2"}) {
    HelloPolicy stranger = Rank(2);
    stranger.token = token;
    EXPECT_NE(refused(MakeHello(stranger, 1, Channel::kData)).find("wrong token"),
              std::string::npos);
  }
  Hello noise = MakeHello(Rank(2), 1, Channel::kData);
  noise.magic[7] = '9';
  EXPECT_NE(refused(noise).find("this version"), std::string::npos);
  Hello channel = MakeHello(Rank(2), 1, static_cast<Channel>(2));
  refused(channel);
}

}  // namespace
}  // namespace trireme
