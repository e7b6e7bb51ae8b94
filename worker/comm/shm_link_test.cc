// Bytes come out as they went in, around the ring's end, with partial sends when it is full.
#include "worker/comm/shm_link.h"

#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace trireme {
namespace {

class ShmLinkTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto segment = SharedSegment::Create(2, 1);
    ASSERT_TRUE(segment.ok());
    segment_ = *std::move(segment);
    a_ = std::make_unique<ShmLink>(segment_.get(), 0, 1, 11);
    b_ = std::make_unique<ShmLink>(segment_.get(), 1, 0, 10);
  }
  std::unique_ptr<SharedSegment> segment_;
  std::unique_ptr<ShmLink> a_, b_;
};

TEST_F(ShmLinkTest, OrderIsKeptThroughAFullRing) {
  const int64_t total = 3 * segment_->ring_bytes() + 12345;
  std::string out(total, 0), in(total, 0);
  for (int64_t i = 0; i < total; ++i) out[i] = static_cast<char>(i * 131 % 251);
  int64_t sent = 0, received = 0;
  bool was_full = false;
  while (received < total) {
    int64_t step = 1;
    while (sent < total && step > 0) {  // until full
      const int64_t first = std::min<int64_t>(total - sent, 7);
      const iovec parts[2] = {
          {out.data() + sent, static_cast<size_t>(first)},
          {out.data() + sent + first, static_cast<size_t>(total - sent - first)}};
      step = *a_->TrySend(parts, 2);
      sent += step;
      was_full |= step == 0;
    }
    const iovec part{in.data() + received,
                     static_cast<size_t>(std::min<int64_t>(total - received, 50001))};
    received += *b_->TryRecv(&part, 1);
  }
  EXPECT_TRUE(was_full);
  EXPECT_EQ(in, out);
  const iovec more{in.data(), 1};
  EXPECT_EQ(*b_->TryRecv(&more, 1), 0);
}

TEST_F(ShmLinkTest, WhatAClosedPeerSentIsReadFirst) {
  char byte = 'x';
  const iovec part{&byte, 1};
  ASSERT_EQ(*a_->TrySend(&part, 1), 1);
  segment_->Close(0);
  EXPECT_EQ(*b_->TryRecv(&part, 1), 1);
  const Status status = b_->TryRecv(&part, 1).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(std::string(status.message()), "rank 10 has closed its communicator");
}

}  // namespace
}  // namespace trireme
