// Rings of three members driven by one thread: every order of turns ends, and an in-place buffer is
// not written before it has been sent on.
#include <memory>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "worker/comm/call_transfer.h"
#include "worker/comm/shm_link.h"

namespace trireme {
namespace {

constexpr int32_t kMembers = 3;

class RingTransferTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto segment = SharedSegment::Create(kMembers, 1);
    ASSERT_TRUE(segment.ok());
    segment_ = *std::move(segment);
    for (int32_t rank = 0; rank < kMembers; ++rank) {
      links_[rank].resize(kMembers);
      for (int32_t peer = 0; peer < kMembers; ++peer) {
        if (peer == rank) continue;
        links_[rank][peer] = std::make_unique<ShmLink>(segment_.get(), rank, peer, peer);
      }
      transfers_.push_back(std::make_unique<CallTransfer>(rank, &links_[rank], &routes_));
    }
  }
  RingCall CallOf(int32_t rank) const { return {{}, DType::kFloat32, {}, {0, 1, 2}, rank}; }
  // Members advance in this order, over and over.
  Status Drive(const std::vector<int32_t>& turns) {
    for (;;) {
      bool moved = false, done = true;
      for (const int32_t rank : turns) {
        RETURN_IF_ERROR(transfers_[rank]->Advance(&moved));
      }
      for (auto& transfer : transfers_) done &= transfer->done();
      if (done) return {};
      if (!moved) return Internal("stuck");
    }
  }
  std::unique_ptr<SharedSegment> segment_;
  Links links_[kMembers];
  const Routes routes_ = Routes(kMembers);
  std::vector<std::unique_ptr<CallTransfer>> transfers_;
};

// Blocks are larger than a pipe and its chunks, and sums pass through `out`.
TEST_F(RingTransferTest, ReduceScatterThroughItsResult) {
  const int64_t count = segment_->ring_bytes() / 2 + 13;  // floats: two pipes
  for (const auto& turns : std::vector<std::vector<int32_t>>{
           {0, 1, 2}, {2, 1, 0}, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2}}) {
    std::vector<std::vector<float>> in, out;
    for (int32_t rank = 0; rank < kMembers; ++rank) {
      in.emplace_back(kMembers * count);
      for (size_t i = 0; i < in[rank].size(); ++i) {
        in[rank][i] = static_cast<float>((i % 1000) * (rank + 1));
      }
      out.emplace_back(count);
      transfers_[rank]->Clear();
    }
    for (int32_t rank = 0; rank < kMembers; ++rank) {
      char* to = reinterpret_cast<char*>(out[rank].data());
      transfers_[rank]->RunRing(ReduceScatterRing(
          CallOf(rank), reinterpret_cast<const char*>(in[rank].data()), count, to, to));
    }
    const Status status = Drive(turns);
    ASSERT_TRUE(status.ok()) << status;
    for (int32_t rank = 0; rank < kMembers; ++rank) {
      int64_t wrong = 0;
      for (int64_t i = 0; i < count; ++i) {
        wrong += out[rank][i] != static_cast<float>((rank * count + i) % 1000 * 6);
      }
      EXPECT_EQ(wrong, 0) << rank;
    }
  }
}

TEST_F(RingTransferTest, BytesAreCountedWithoutHeaders) {
  std::vector<std::vector<float>> data(kMembers, std::vector<float>(100001, 1.0f));
  for (int32_t rank = 0; rank < kMembers; ++rank) {
    transfers_[rank]->RunRing(
        AllReduceRing(CallOf(rank), reinterpret_cast<char*>(data[rank].data()), 100001));
  }
  const Status status = Drive({0, 1, 2});
  ASSERT_TRUE(status.ok()) << status;
  int64_t sum = 0;
  for (auto& transfer : transfers_) sum += transfer->bytes_sent().ici;
  EXPECT_EQ(sum, 2 * (kMembers - 1) * 100001 * 4);
  EXPECT_EQ(data[0], std::vector<float>(100001, 3.0f));
  EXPECT_EQ(data[2], data[0]);
}

// Member 1 does not come: member 2 waits for it, member 0 for what member 2 should pass on.
TEST_F(RingTransferTest, TheStreamThatHasNotBegunIsKnown) {
  std::vector<std::vector<float>> data(kMembers, std::vector<float>(100000, 1.0f));
  for (const int32_t rank : {0, 2}) {
    transfers_[rank]->RunRing(
        AllReduceRing(CallOf(rank), reinterpret_cast<char*>(data[rank].data()), 100000));
  }
  for (bool moved = true; moved;) {
    moved = false;
    for (const int32_t rank : {0, 2}) ASSERT_TRUE(transfers_[rank]->Advance(&moved).ok());
  }
  EXPECT_EQ(*transfers_[2]->MissingPeers(), std::vector<int32_t>{1});
  EXPECT_TRUE(transfers_[0]->MissingPeers()->empty());
  EXPECT_THAT(transfers_[0]->PendingPeers(), ::testing::Contains(2));
  // Neither can do anything but wait for the doorbell.
  EXPECT_TRUE(transfers_[2]->ToWaitFor().shared_memory);
  EXPECT_TRUE(transfers_[2]->ToWaitFor().sockets.empty());
  EXPECT_EQ(transfers_[2]->ToWaitFor().wake_ns, CallTransfer::Waits::kNever);
}

}  // namespace
}  // namespace trireme
