// The arithmetic of limits with invented times: no clock is read.
#include "worker/comm/pacer.h"

#include "gtest/gtest.h"

namespace trireme {
namespace {

constexpr int64_t kMs = 1000000;

// Sends `bytes` that are ready at `ready_ns`, asking again whenever told to, each time `late_ns`
// too late; returns when the last byte went.
int64_t SendAll(Pacer& pacer, int64_t bytes, int64_t ready_ns, int64_t late_ns = 0) {
  int64_t now = ready_ns;
  while (bytes > 0) {
    const int64_t granted = pacer.Grant(bytes, ready_ns, now);
    EXPECT_LE(granted, bytes);
    if (granted == 0) {
      EXPECT_GT(pacer.wake_ns(), now);
      now = pacer.wake_ns() + late_ns;
    }
    pacer.Sent(granted);
    bytes -= granted;
  }
  return now;
}

TEST(Pacer, ATransferTakesItsTimeAtTheLimit) {
  std::atomic<int64_t> bucket{0};
  Pacer pacer({.bytes_per_s = 12.5e6}, &bucket);
  EXPECT_NEAR(SendAll(pacer, 10000000, 1000 * kMs) - 1000 * kMs, 800 * kMs, kMs);
  EXPECT_GE(SendAll(pacer, 10000000, 3000 * kMs) - 3000 * kMs, 800 * kMs);
}

TEST(Pacer, LateThreadsLoseNoTime) {
  std::atomic<int64_t> bucket{0};
  Pacer pacer({.bytes_per_s = 12.5e6}, &bucket);
  const int64_t took = SendAll(pacer, 10000000, 1000 * kMs, /*late_ns=*/3 * kMs) - 1000 * kMs;
  EXPECT_GE(took, 800 * kMs);
  EXPECT_LE(took, 804 * kMs);
}

TEST(Pacer, TimeOfAFullPipeIsLost) {
  std::atomic<int64_t> bucket{0};
  Pacer pacer({.bytes_per_s = 1e6}, &bucket);
  EXPECT_EQ(pacer.Grant(1000, 0, 100 * kMs), 1000);  // ready for long: its slot is over
  pacer.Stalled(100 * kMs);
  pacer.Sent(1000);
  EXPECT_EQ(pacer.Grant(1000, 0, 100 * kMs), 0);
  EXPECT_EQ(pacer.wake_ns(), 101 * kMs);
}

TEST(Pacer, LatencyComesOncePerMessage) {
  std::atomic<int64_t> bucket{0};
  Pacer pacer({.bytes_per_s = 1e6, .latency_s = 0.01}, &bucket);
  EXPECT_NEAR(SendAll(pacer, 100000, 1000 * kMs), 1110 * kMs, kMs / 10);
  Pacer only_latency({.latency_s = 0.01}, &bucket);
  EXPECT_EQ(SendAll(only_latency, 100000, 2000 * kMs), 2010 * kMs);
}

// Two ranks of a worker that send at once get half each.
TEST(Pacer, LinksOfAWorkerShareTheLimit) {
  std::atomic<int64_t> bucket{0};
  Pacer a({.bytes_per_s = 1e6}, &bucket);
  Pacer b({.bytes_per_s = 1e6}, &bucket);
  int64_t sent_a = 0, sent_b = 0;
  for (int64_t now = 0; now <= 1000 * kMs; now += kMs) {
    for (auto [pacer, sent] : {std::pair(&a, &sent_a), std::pair(&b, &sent_b)}) {
      const int64_t granted = pacer->Grant(1 << 20, 0, now);
      pacer->Sent(granted);
      *sent += granted;
    }
  }
  EXPECT_LE(sent_a + sent_b, 1000000);
  EXPECT_GE(sent_a + sent_b, 980000);
  EXPECT_NEAR(sent_a, sent_b, 8192);
}

TEST(Pacer, NoLimitIsNone) {
  EXPECT_TRUE(FabricLimit().none());
  EXPECT_FALSE(FabricLimit{.latency_s = 1e-3}.none());
}

}  // namespace
}  // namespace trireme
