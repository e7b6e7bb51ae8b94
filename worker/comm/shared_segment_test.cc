// The segment checks who maps it, keeps the first abort, and does not lose a wake-up.
#include "worker/comm/shared_segment.h"

#include <thread>

#include "gtest/gtest.h"

namespace trireme {
namespace {

using std::chrono::microseconds;

TEST(SharedSegment, RingsDoNotOverlapAndFitInside) {
  for (int32_t n : {1, 2, 5, 9}) {
    auto segment = SharedSegment::Create(n, 1);
    ASSERT_TRUE(segment.ok()) << segment.status();
    const char* base = nullptr;
    const char* end = nullptr;
    for (int32_t i = 0; i < n; ++i) {
      for (int32_t j = 0; j < n; ++j) {
        if (i == j) continue;
        const char* ring = reinterpret_cast<const char*>((*segment)->ring(i, j));
        if (base == nullptr) base = ring;
        EXPECT_TRUE(end == nullptr || ring >= end) << i << " " << j;
        end = (*segment)->ring_data(i, j) + (*segment)->ring_bytes();
      }
    }
    EXPECT_LT(end - base, SharedSegmentBytes(n));
  }
}

TEST(SharedSegment, OpeningWithOtherNumbersIsAnError) {
  auto segment = SharedSegment::Create(3, 7);
  ASSERT_TRUE(segment.ok());
  EXPECT_TRUE(SharedSegment::Open((*segment)->fd(), 3, 7).ok());
  EXPECT_EQ(SharedSegment::Open((*segment)->fd(), 4, 7).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(SharedSegment::Open((*segment)->fd(), 3, 6).status().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(SharedSegment::Open(-1, 3, 7).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(SharedSegment::OpenPath("/no/such/file", 3, 7).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(SharedSegment, TheFirstAbortStaysAndIsSeenThroughEveryMapping) {
  auto segment = SharedSegment::Create(2, 1);
  ASSERT_TRUE(segment.ok());
  auto other = SharedSegment::Open((*segment)->fd(), 2, 1);
  ASSERT_TRUE(other.ok());
  EXPECT_FALSE((*other)->aborted());
  (*segment)->Abort(AbortKind::kGone, 5, std::string(5000, 'x'));
  (*other)->Abort(AbortKind::kAborted, 6, "too late");
  ASSERT_TRUE((*other)->aborted());
  EXPECT_EQ((*other)->abort().rank, 5);
  EXPECT_EQ((*other)->abort().kind, AbortKind::kGone);
  EXPECT_EQ((*other)->abort().reason, std::string(1023, 'x'));
}

// The sleep is limited to ten minutes: the test ends because it is woken, before or during the
// sleep.
TEST(SharedSegment, AWakeBetweenPrepareAndSleepIsNotLost) {
  auto segment = SharedSegment::Create(2, 1);
  ASSERT_TRUE(segment.ok());
  for (int round = 0; round < 100; ++round) {
    const uint32_t key = (*segment)->PrepareSleep(0);
    std::thread waker([&] { (*segment)->Wake(0); });
    if (round % 2 == 0) waker.join();
    (*segment)->Sleep(0, key, microseconds(600000000));
    if (waker.joinable()) waker.join();
  }
}

}  // namespace
}  // namespace trireme
