// Calls carry what was asked and bring back what was answered, errors in words a user can act on.
#include "cli/client.h"

#include <thread>

#include "cli/testing/fake_coordinator.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace trireme {
namespace {

using ::testing::HasSubstr;

TEST(Client, BringsAnswersAndErrors) {
  FakeCoordinator coordinator(FinishedJob());
  Client client(coordinator.address());
  const auto job = client.GetJob("tiny-1");
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(job->display_name(), "tiny");
  EXPECT_EQ(client.GetJob("other").status(), NotFound("there is no job other"));
  EXPECT_EQ(client.GetVersion()->version(), "0.1.0");
}

TEST(Client, SaysWhatToDoWhenNobodyAnswers) {
  std::string address;
  { address = FakeCoordinator(FinishedJob()).address(); }
  Client client(address);
  const Status status = client.ListNodes().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("no coordinator answers at " + address));
  EXPECT_THAT(std::string(status.message()), HasSubstr("TRIREME_COORDINATOR"));
}

TEST(Client, StreamsUntilTheEndOrEnough) {
  FakeCoordinator coordinator(FinishedJob());
  Client client(coordinator.address());
  v1::StreamMetricsRequest request;
  request.set_name("tiny-1");
  int count = 0;
  EXPECT_TRUE(client.StreamMetrics(request, [&](const auto&) { return ++count < 9; }).ok());
  EXPECT_EQ(count, 2);
  count = 0;
  EXPECT_TRUE(client.StreamMetrics(request, [&](const auto&) { return ++count < 1; }).ok());
  EXPECT_EQ(count, 1);
}

TEST(Client, CancelStreamsEndsThemAll) {
  FakeAnswers answers = FinishedJob();
  answers.hold_streams = true;
  FakeCoordinator coordinator(answers);
  Client client(coordinator.address());
  v1::StreamMetricsRequest request;
  request.set_name("tiny-1");
  const auto cancel_at_first = [&](const v1::StreamMetricsResponse&) {
    client.CancelStreams();
    return true;
  };
  EXPECT_TRUE(absl::IsCancelled(client.StreamMetrics(request, cancel_at_first)));
  EXPECT_TRUE(absl::IsCancelled(client.StreamMetrics(request, cancel_at_first)));
}

TEST(BareName, DropsTheCollection) {
  EXPECT_EQ(BareName("jobs/tiny-1"), "tiny-1");
  EXPECT_EQ(BareName("tiny-1"), "tiny-1");
}

}  // namespace
}  // namespace trireme
