// Rings as lists of blocks: who sends which, and that the sum of a block ends with its owner.
#include "worker/comm/ring.h"

#include "gtest/gtest.h"

namespace trireme {
namespace {

RingCall CallOf(int64_t members, int64_t place) {
  RingCall call;
  for (int64_t i = 0; i < members; ++i) call.members.push_back(static_cast<int32_t>(10 + i));
  call.place = place;
  return call;
}

// Element offset of memory inside a float buffer.
int64_t OffsetIn(const std::vector<float>& buffer, const char* at) {
  return (at - reinterpret_cast<const char*>(buffer.data())) / 4;
}

TEST(Ring, ReduceScatterAddsOwnBlocksBackwardsAndEndsWithItsOwn) {
  const std::vector<float> in(8);
  float forward[2], out[2];
  const RingCall call = CallOf(4, 1);
  const Ring ring =
      ReduceScatterRing(call, reinterpret_cast<const char*>(in.data()), 2,
                        reinterpret_cast<char*>(forward), reinterpret_cast<char*>(out));
  EXPECT_EQ(ring.previous, 10);
  EXPECT_EQ(ring.next, 12);
  EXPECT_EQ(OffsetIn(in, ring.first), 0);  // block 0: its sum begins here and ends at member 0
  ASSERT_EQ(ring.segments.size(), 3u);
  EXPECT_EQ(OffsetIn(in, ring.segments[0].own), 6);
  EXPECT_EQ(OffsetIn(in, ring.segments[1].own), 4);
  EXPECT_EQ(OffsetIn(in, ring.segments[2].own), 2);
  EXPECT_EQ(ring.segments[1].data, reinterpret_cast<char*>(forward));
  EXPECT_EQ(ring.segments[2].data, reinterpret_cast<char*>(out));
}

TEST(Ring, AllGatherReceivesEveryOtherBlockOnce) {
  std::vector<float> out(9);
  const Ring ring = AllGatherRing(CallOf(3, 2), reinterpret_cast<char*>(out.data()), 3);
  EXPECT_EQ(ring.previous, 11);
  EXPECT_EQ(ring.next, 10);
  EXPECT_EQ(OffsetIn(out, ring.first), 6);
  ASSERT_EQ(ring.segments.size(), 2u);
  EXPECT_EQ(OffsetIn(out, ring.segments[0].data), 3);
  EXPECT_EQ(OffsetIn(out, ring.segments[1].data), 0);
  EXPECT_EQ(ring.segments[0].own, nullptr);
}

// What a member receives in a step is what the one before it sends in that step.
TEST(Ring, NeighboursAgreeOnTheBlocksOfAnAllReduce) {
  std::vector<float> data(11);
  for (const int64_t members : {2, 3, 4, 7}) {
    std::vector<Ring> rings;
    for (int64_t i = 0; i < members; ++i) {
      rings.push_back(AllReduceRing(CallOf(members, i), reinterpret_cast<char*>(data.data()), 11));
    }
    for (int64_t i = 0; i < members; ++i) {
      const Ring& sender = rings[i];
      const Ring& receiver = rings[(i + 1) % members];
      ASSERT_EQ(sender.segments.size(), 2 * static_cast<size_t>(members - 1));
      EXPECT_EQ(receiver.segments[0].data, sender.first);
      EXPECT_EQ(receiver.segments[0].count, sender.first_count);
      for (size_t s = 1; s < receiver.segments.size(); ++s) {
        EXPECT_EQ(receiver.segments[s].data, sender.segments[s - 1].data) << members << " " << s;
        EXPECT_EQ(receiver.segments[s].count, sender.segments[s - 1].count);
      }
    }
  }
}

}  // namespace
}  // namespace trireme
