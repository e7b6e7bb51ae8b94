// The progress machine alone, both ranks driven by one thread: nothing in it waits.
#include "worker/comm/call_transfer.h"

#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "worker/comm/shm_link.h"

namespace trireme {
namespace {

class TransferTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto segment = SharedSegment::Create(2, 1);
    ASSERT_TRUE(segment.ok());
    segment_ = *std::move(segment);
    for (int32_t rank : {0, 1}) {
      links_[rank].resize(2);
      links_[rank][1 - rank] = std::make_unique<ShmLink>(segment_.get(), rank, 1 - rank, 1 - rank);
      transfers_.push_back(std::make_unique<CallTransfer>(rank, &links_[rank], &routes_));
    }
  }
  Status DriveBoth() {
    while (!transfers_[0]->done() || !transfers_[1]->done()) {
      bool moved = false;
      for (auto& transfer : transfers_) RETURN_IF_ERROR(transfer->Advance(&moved));
      if (!moved) return Internal("stuck");
    }
    return {};
  }
  std::unique_ptr<SharedSegment> segment_;
  Links links_[2];
  const Routes routes_ = Routes(2);
  std::vector<std::unique_ptr<CallTransfer>> transfers_;
};

// Both send more than a ring holds before either reads: a blocking send would stop here.
TEST_F(TransferTest, LargeMessagesBothWaysAtOnce) {
  const int64_t bytes = 3 * segment_->ring_bytes() + 5;
  std::string out[2] = {std::string(bytes, 'a'), std::string(bytes, 'b')};
  std::string in[2] = {std::string(bytes, 0), std::string(bytes, 0)};
  for (int32_t rank : {0, 1}) {
    transfers_[rank]->Send(1 - rank, {}, out[rank].data(), bytes);
    transfers_[rank]->Receive(1 - rank, {}, in[rank].data(), bytes);
  }
  const Status status = DriveBoth();
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(in[0], out[1]);
  EXPECT_EQ(in[1], out[0]);
}

TEST_F(TransferTest, ReductionAcrossManyChunks) {
  constexpr int64_t kCount = 100003;
  std::vector<float> data[2] = {std::vector<float>(kCount, 1.0f), std::vector<float>(kCount, 2.0f)};
  std::vector<float> sum(kCount);
  transfers_[1]->Send(0, {}, data[1].data(), kCount * 4);
  transfers_[0]->Reduce(
      {{}, DType::kFloat32, ReduceKind::kSum, {0, 1}, data[0].data(), sum.data(), kCount});
  const Status status = DriveBoth();
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(sum, std::vector<float>(kCount, 3.0f));
}

TEST_F(TransferTest, MissingAndPendingPeersAreKnown) {
  char byte = 0;
  transfers_[0]->Receive(1, {}, &byte, 1);
  bool moved = false;
  ASSERT_TRUE(transfers_[0]->Advance(&moved).ok());
  EXPECT_FALSE(moved);
  EXPECT_EQ(*transfers_[0]->MissingPeers(), std::vector<int32_t>{1});
  EXPECT_EQ(transfers_[0]->PendingPeers(), std::vector<int32_t>{1});
  transfers_[0]->Clear();
  EXPECT_TRUE(transfers_[0]->done());
  EXPECT_TRUE(transfers_[0]->PendingPeers().empty());
}

TEST_F(TransferTest, NoiseInsteadOfAHeaderIsAnError) {
  std::string noise(sizeof(CallHeader), '?');
  const iovec part{noise.data(), noise.size()};
  ASSERT_TRUE(links_[1][0]->TrySend(&part, 1).ok());
  transfers_[0]->Receive(1, {}, nullptr, 0);
  bool moved = false;
  const Status status = transfers_[0]->Advance(&moved);
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr("no call header"));
  EXPECT_EQ(transfers_[0]->failed_peer(), 1);
}

}  // namespace
}  // namespace trireme
