// Temporaries alive at once never overlap, and straight chains reuse memory.
#include "coordinator/compiler/passes/scratch.h"

#include <gtest/gtest.h>

#include <random>

#include "common/base/math.h"

namespace trireme {
namespace {

TEST(Scratch, NothingNeedsNothing) { EXPECT_EQ(LayOutScratch({}).bytes, 0); }

TEST(Scratch, LiveTogetherStandApart) {
  const ScratchLayout layout = LayOutScratch({{100, 0, 1}, {64, 1, 2}});
  EXPECT_EQ(layout.bytes, 128 + 64);
}

// a -> b -> c -> d: at most two are alive, so two places do.
TEST(Scratch, ChainUsesTwoPlaces) {
  const ScratchLayout layout = LayOutScratch({{64, 0, 1}, {64, 1, 2}, {64, 2, 3}, {64, 3, 4}});
  EXPECT_EQ(layout.bytes, 128);
  EXPECT_EQ(layout.offsets[0], layout.offsets[2]);
  EXPECT_EQ(layout.offsets[1], layout.offsets[3]);
}

TEST(Scratch, SmallOnesFillAGap) {
  // The large ones leave 128 free in the middle while 0 and 2 live.
  const ScratchLayout layout =
      LayOutScratch({{256, 0, 9}, {128, 0, 3}, {64, 0, 9}, {64, 4, 9}, {64, 4, 9}});
  EXPECT_EQ(layout.bytes, 256 + 128 + 64);
}

// Random programs: offsets are aligned, inside the arena, no two live ones overlap, and the arena
// is no smaller than the most that is alive at once and no larger than everything together.
TEST(Scratch, RandomProgramsNeverOverlap) {
  std::mt19937 random(7);
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<Lifetime> temps(1 + random() % 40);
    for (Lifetime& temp : temps) {
      temp.bytes = random() % 1000;
      temp.first = static_cast<int>(random() % 30);
      temp.last = temp.first + static_cast<int>(random() % 8);
    }
    const ScratchLayout layout = LayOutScratch(temps);
    ASSERT_EQ(layout.offsets.size(), temps.size());
    int64_t sum = 0;
    int64_t most = 0;
    for (size_t i = 0; i < temps.size(); ++i) {
      EXPECT_EQ(layout.offsets[i] % kAlignment, 0);
      EXPECT_LE(layout.offsets[i] + temps[i].bytes, layout.bytes);
      sum += RoundUp(std::max<int64_t>(temps[i].bytes, 1), kAlignment);
      int64_t alive = 0;
      for (size_t j = 0; j < temps.size(); ++j) {
        if (temps[j].first <= temps[i].first && temps[i].first <= temps[j].last)
          alive += temps[j].bytes;
        if (j <= i || temps[i].first > temps[j].last || temps[j].first > temps[i].last) continue;
        EXPECT_TRUE(layout.offsets[i] + temps[i].bytes <= layout.offsets[j] ||
                    layout.offsets[j] + temps[j].bytes <= layout.offsets[i])
            << "trial " << trial << ": " << i << " and " << j;
      }
      most = std::max(most, alive);
    }
    EXPECT_GE(layout.bytes, most);
    EXPECT_LE(layout.bytes, sum);
  }
}

}  // namespace
}  // namespace trireme
