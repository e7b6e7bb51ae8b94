// Order of starts: first come first served, except past jobs that cannot run on this cluster.
#include "coordinator/queue/queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace trireme {
namespace {

using ::testing::HasSubstr;

constexpr GangDemand Devices(int64_t count) { return {count, false, 1, false}; }

WorkerMap OneWorker(int32_t devices) {
  WorkerMap workers;
  workers["a"].info = {"a", "host", "0", "cpu", devices, 1, "0.1.0", 0};
  return workers;
}

TEST(JobQueue, StartsInOrderOneACall) {
  JobQueue queue;
  queue.Push("jobs/x-1", Devices(1));
  queue.Push("jobs/x-2", Devices(1));
  const WorkerMap workers = OneWorker(2);
  const JobQueue::Decision first = queue.Choose(workers);
  ASSERT_TRUE(first.start.has_value());
  EXPECT_EQ(first.start->job, "jobs/x-1");
  ASSERT_EQ(first.waits.size(), 1u);
  EXPECT_THAT(first.waits[0].reason, HasSubstr("jobs/x-1 starts first"));
  EXPECT_EQ(queue.Choose(workers).start->job, "jobs/x-2");
  EXPECT_FALSE(queue.Choose(workers).start.has_value());
}

TEST(JobQueue, ASmallJobDoesNotOvertakeAHeadThatWillFit) {
  JobQueue queue;
  queue.Push("jobs/big-1", Devices(2));
  queue.Push("jobs/small-2", Devices(1));
  WorkerMap workers = OneWorker(2);
  workers["a"].held[{"jobs/old-0", 1}] = {0};
  const JobQueue::Decision decision = queue.Choose(workers);
  EXPECT_FALSE(decision.start.has_value());
  ASSERT_EQ(decision.waits.size(), 2u);
  EXPECT_THAT(decision.waits[0].reason, HasSubstr("1 free of 2 cpu"));
  EXPECT_EQ(decision.waits[1].reason, "its devices are free; behind jobs/big-1 in the queue");
}

TEST(JobQueue, AnImpossibleHeadBlocksNobody) {
  JobQueue queue;
  queue.Push("jobs/huge-1", Devices(64));
  queue.Push("jobs/small-2", Devices(1));
  const JobQueue::Decision decision = queue.Choose(OneWorker(2));
  ASSERT_TRUE(decision.start.has_value());
  EXPECT_EQ(decision.start->job, "jobs/small-2");
  EXPECT_THAT(decision.waits[0].reason, HasSubstr("too few even when idle"));
}

TEST(JobQueue, RemoveForgetsAJob) {
  JobQueue queue;
  queue.Push("jobs/x-1", Devices(1));
  queue.Remove("jobs/x-1");
  EXPECT_FALSE(queue.Choose(OneWorker(2)).start.has_value());
}

}  // namespace
}  // namespace trireme
