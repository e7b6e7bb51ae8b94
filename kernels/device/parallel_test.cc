// Every index is visited once, whatever the count, the grain and the number of threads.
#include "kernels/device/parallel.h"

#include <gtest/gtest.h>

#include <vector>

namespace trireme {
namespace {

TEST(ParallelFor, VisitsEveryIndexOnce) {
  for (int threads : {1, 2, 3}) {
    for (int64_t count : {0, 1, 7, 100}) {
      for (int64_t grain : {1, 3, 1000}) {
        std::vector<int> visits(count);
        ParallelFor({.num_threads = threads}, count, grain, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) ++visits[i];
        });
        EXPECT_EQ(visits, std::vector<int>(count, 1)) << threads << " " << count << " " << grain;
      }
    }
  }
}

TEST(ParallelTasks, VisitsEveryTaskOnce) {
  std::vector<int> visits(11);
  ParallelTasks({.num_threads = 3}, 11, [&](int64_t task) { ++visits[task]; });
  EXPECT_EQ(visits, std::vector<int>(11, 1));
}

}  // namespace
}  // namespace trireme
