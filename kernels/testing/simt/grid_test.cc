// The words of CUDA on the CPU: indices, barriers, warp exchanges, atomics, and what would hang.
#include "kernels/testing/simt/grid.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "kernels/testing/simt/simt.h"

namespace trireme {
namespace {

TEST(Simt, EveryThreadOfEveryBlockRunsOnce) {
  std::vector<int> hits(2 * 3 * 4 * 5);
  simt::Launch("count", {2, 3}, {4, 5}, 0, [&] {
    const unsigned block = blockIdx.y * gridDim.x + blockIdx.x;
    ++hits[block * 20 + threadIdx.y * blockDim.x + threadIdx.x];
  });
  EXPECT_EQ(hits, std::vector<int>(hits.size(), 1));
}

// Each thread writes a number and reads its neighbour's after the barrier.
TEST(Simt, BarriersOrderSharedMemory) {
  for (const unsigned threads : {1, 32, 70, 256}) {
    std::vector<int> out(threads);
    simt::Launch("neighbour", 3, threads, threads * sizeof(int), [&] {
      int* const shared = static_cast<int*>(simt::DynamicShared());
      shared[threadIdx.x] = static_cast<int>(threadIdx.x * 10 + blockIdx.x);
      __syncthreads();
      out[threadIdx.x] = shared[(threadIdx.x + 1) % blockDim.x];
    });
    for (unsigned i = 0; i < threads; ++i) EXPECT_EQ(out[i], (i + 1) % threads * 10 + 2);
  }
}

TEST(Simt, LanesExchange) {
  std::vector<int> x(64), down(64), sums(64), votes(64);
  simt::Launch("lanes", 1, 64, 0, [&] {
    const auto i = static_cast<int>(threadIdx.x);
    x[i] = __shfl_xor_sync(~0u, i, 5);
    down[i] = __shfl_down_sync(~0u, i, 30);
    sums[i] = i;
    for (int bits = 16; bits > 0; bits /= 2) sums[i] += __shfl_xor_sync(~0u, sums[i], bits);
    votes[i] = static_cast<int>(__ballot_sync(~0u, i % 32 < 3));
  });
  for (int i = 0; i < 64; ++i) {
    EXPECT_EQ(x[i], i ^ 5);
    EXPECT_EQ(down[i], i % 32 < 2 ? i + 30 : i);
    EXPECT_EQ(sums[i], i < 32 ? 496 : 496 + 32 * 32);
    EXPECT_EQ(votes[i], 7);
  }
}

TEST(Simt, AtomicsAdd) {
  float total = 0;
  simt::Launch("sum", 4, 96, 0, [&] { atomicAdd(&total, static_cast<float>(threadIdx.x)); });
  EXPECT_EQ(total, 4 * 95 * 96 / 2);
}

// Warps run in an order drawn from the seed.
TEST(Simt, SeedsShuffleWarps) {
  std::set<std::vector<unsigned>> orders;
  for (const uint64_t seed : {1, 2, 3, 4, 5, 6}) {
    std::vector<unsigned> order;
    simt::SetSeed(seed);
    simt::Launch("order", 1, 256, 0, [&] {
      if (threadIdx.x % 32 == 0) order.push_back(threadIdx.x / 32);
    });
    ASSERT_EQ(order.size(), 8u);
    orders.insert(order);
  }
  EXPECT_GT(orders.size(), 3u);
}

TEST(SimtDeathTest, WaitingForEverIsNamed) {
  const auto half = [] {
    simt::Launch("half", 1, 64, 0, [] {
      if (threadIdx.x < 32) __syncthreads();
    });
  };
  EXPECT_DEATH(half(),
               "kernel half: 32 threads stand at a barrier of the block, 0 at one of their "
               "warp, 32 are done");
  const auto mixed = [] {
    simt::Launch("mixed", 1, 32, 0, [] {
      if (threadIdx.x < 16) {
        __syncthreads();
      } else {
        __syncwarp();
      }
    });
  };
  EXPECT_DEATH(mixed(), "16 threads stand at a barrier of the block, 16 at one of their warp");
}

}  // namespace
}  // namespace trireme
