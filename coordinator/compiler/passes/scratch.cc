// Greedy by size.
#include "coordinator/compiler/passes/scratch.h"

#include <algorithm>
#include <numeric>

#include "common/base/math.h"

namespace trireme {
namespace {

bool Overlap(const Lifetime& a, const Lifetime& b) {
  return a.first <= b.last && b.first <= a.last;
}

}  // namespace

ScratchLayout LayOutScratch(const std::vector<Lifetime>& lifetimes) {
  ScratchLayout layout;
  layout.offsets.assign(lifetimes.size(), 0);
  std::vector<int> order(lifetimes.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return lifetimes[a].bytes > lifetimes[b].bytes; });
  std::vector<int> placed;  // sorted by offset
  for (const int index : order) {
    const int64_t bytes = RoundUp(std::max<int64_t>(lifetimes[index].bytes, 1), kAlignment);
    int64_t offset = 0;
    for (const int other : placed) {
      if (!Overlap(lifetimes[index], lifetimes[other])) continue;
      const int64_t end =
          layout.offsets[other] + RoundUp(std::max<int64_t>(lifetimes[other].bytes, 1), kAlignment);
      if (layout.offsets[other] >= offset + bytes) break;
      offset = std::max(offset, end);
    }
    layout.offsets[index] = offset;
    layout.bytes = std::max(layout.bytes, offset + bytes);
    placed.insert(
        std::upper_bound(placed.begin(), placed.end(), index,
                         [&](int a, int b) { return layout.offsets[a] < layout.offsets[b]; }),
        index);
  }
  return layout;
}

}  // namespace trireme
