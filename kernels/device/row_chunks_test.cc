// Sums over chunks of rows are right for sizes around the chunk limits, add or overwrite as asked,
// and have the same bits for any number of threads.
#include "kernels/device/row_chunks.h"

#include <gtest/gtest.h>

#include <vector>

namespace trireme {
namespace {

std::vector<float> ColumnSums(int threads, int64_t rows, int64_t columns, bool add) {
  std::vector<float> x(rows * columns);
  for (int64_t i = 0; i < rows * columns; ++i) x[i] = 0.1f * static_cast<float>(i * 7919 % 101);
  std::vector<float> sums(columns, 1000.0f);
  SumRowChunks({.num_threads = threads}, rows, columns, columns, sums.data(), add,
               [&](int64_t begin, int64_t end, float* partial) {
                 for (int64_t row = begin; row < end; ++row) {
                   RunSimd<AddInto>(x.data() + row * columns, partial, columns);
                 }
               });
  return sums;
}

TEST(SumRowChunks, MatchesPlainSums) {
  for (int64_t rows : {0, 1, 3, 17, 1000}) {
    for (int64_t columns : {1, 5, 300}) {
      for (bool add : {false, true}) {
        const std::vector<float> sums = ColumnSums(2, rows, columns, add);
        for (int64_t c = 0; c < columns; ++c) {
          double expected = add ? 1000.0 : 0.0;
          for (int64_t r = 0; r < rows; ++r) {
            expected += 0.1 * static_cast<double>((r * columns + c) * 7919 % 101);
          }
          EXPECT_NEAR(sums[c], expected, 1e-5 * (expected + 1)) << rows << "x" << columns;
        }
      }
    }
  }
}

TEST(SumRowChunks, DoesNotDependOnThreads) {
  const std::vector<float> one = ColumnSums(1, 1000, 300, false);
  for (int threads : {2, 3, 5}) EXPECT_EQ(ColumnSums(threads, 1000, 300, false), one) << threads;
}

}  // namespace
}  // namespace trireme
