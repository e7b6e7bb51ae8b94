// Walks of strided views: dims merge where both sides allow it, and every element is met once.
#include "kernels/device/strided.h"

#include <gtest/gtest.h>

#include <set>

namespace trireme {
namespace {

Tensor View(std::vector<int64_t> sizes, std::vector<int64_t> strides) {
  return {.sizes = std::move(sizes), .strides = std::move(strides)};
}

TEST(Strided, MergesWhatIsContiguousOnBothSides) {
  EXPECT_EQ(MergedDims(View({2, 3, 4}, {12, 4, 1}), View({2, 3, 4}, {12, 4, 1})).size(), 1u);
  EXPECT_EQ(MergedDims(View({2, 3, 4}, {12, 4, 1}), View({2, 3, 4}, {20, 4, 1})).size(), 2u);
  EXPECT_EQ(MergedDims(View({2, 3, 4}, {20, 5, 1}), View({2, 3, 4}, {12, 4, 1})).size(), 3u);
  EXPECT_EQ(MergedDims(View({2, 1, 4}, {4, 99, 1}), View({2, 1, 4}, {4, 7, 1})).size(), 1u);
  EXPECT_EQ(MergedDims(View({}, {}), View({}, {}))[0].size, 1);
}

// Offsets (from, to) of all elements equal those of StridedOffset.
TEST(Strided, MeetsEveryElementOnce) {
  for (const auto& [x, y] : std::vector<std::pair<Tensor, Tensor>>{
           {View({2, 3, 4}, {12, 4, 1}), View({2, 3, 4}, {12, 4, 1})},
           {View({2, 3, 4}, {40, 5, 1}), View({2, 3, 4}, {1, 2, 6})},
           {View({}, {}), View({}, {})}}) {
    std::set<std::pair<int64_t, int64_t>> expected, met;
    for (int64_t i = 0; i < x.count(); ++i) {
      expected.emplace(StridedOffset(x, i), StridedOffset(y, i));
    }
    int64_t count = 0;
    ForEachStridedRow({}, x, y, [&](int64_t from, int64_t to, const StridedDim& row) {
      for (int64_t i = 0; i < row.size; ++i) met.emplace(from + i * row.from, to + i * row.to);
      count += row.size;
    });
    EXPECT_EQ(met, expected);
    EXPECT_EQ(count, x.count());
  }
}

}  // namespace
}  // namespace trireme
