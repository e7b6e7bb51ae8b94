// The words that all kernels share, run on the CPU.
#include "kernels/device/cuda/cuda.h"

#include <gtest/gtest.h>

#include <vector>

namespace trireme {
namespace {

TEST(Cuda, BlocksSumInEveryThread) {
  std::vector<float> seen(96), largest(96);
  simt::Launch("sum", 4, 96, 0, [&] {
    __shared__ float shared[3];
    seen[threadIdx.x] = BlockSum(static_cast<float>(threadIdx.x), shared);
    largest[threadIdx.x] = WarpMax(static_cast<float>(threadIdx.x));
  });
  for (const float sum : seen) EXPECT_EQ(sum, 95 * 96 / 2);
  for (int i = 0; i < 96; ++i) EXPECT_EQ(largest[i], i / 32 * 32 + 31);
}

TEST(Cuda, GridStridesCoverEveryElementOnce) {
  for (const int64_t count : {0, 1, 255, 256, 257, 100000}) {
    std::vector<int> hits(count);
    const unsigned blocks = BlocksFor(count, 64, 3);
    EXPECT_GE(blocks, 1u);
    EXPECT_LE(blocks, 3u);
    simt::Launch("stride", blocks, 64, 0, [&] {
      for (int64_t i = GridIndex(); i < count; i += GridStride()) ++hits[i];
    });
    EXPECT_EQ(hits, std::vector<int>(count, 1)) << count;
  }
}

TEST(Cuda, DynamicSharedMemoryIsTheBlocks) {
  std::vector<int> out(70);
  simt::Launch("reverse", 2, 70, 70 * sizeof(int), [&] {
    TRIREME_DYNAMIC_SHARED(int, shared);
    shared[threadIdx.x] = static_cast<int>(threadIdx.x);
    __syncthreads();
    out[threadIdx.x] = shared[69 - threadIdx.x];
  });
  for (int i = 0; i < 70; ++i) EXPECT_EQ(out[i], 69 - i);
}

}  // namespace
}  // namespace trireme
