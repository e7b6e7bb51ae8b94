// Scratch buffers are aligned, distinct by slot, and kept between calls.
#include "kernels/device/scratch.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace trireme {
namespace {

TEST(ThreadScratch, IsAlignedAndKept) {
  float* first = ThreadScratchOf<float>(ScratchSlot::kTile, 1000);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(first) % 64, 0u);
  first[999] = 7.0f;
  EXPECT_EQ(ThreadScratchOf<float>(ScratchSlot::kTile, 10), first);
  EXPECT_EQ(ThreadScratchOf<float>(ScratchSlot::kTile, 1000)[999], 7.0f);
}

TEST(ThreadScratch, SlotsDoNotOverlap) {
  char* a = ThreadScratchOf<char>(ScratchSlot::kPackA, 5000);
  char* b = ThreadScratchOf<char>(ScratchSlot::kPackB, 5000);
  EXPECT_TRUE(a + 5000 <= b || b + 5000 <= a);
}

}  // namespace
}  // namespace trireme
