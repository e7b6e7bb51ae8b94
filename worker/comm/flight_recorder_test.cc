// The recorder shows the last calls in order, the running one included, to a reader that only has
// the file.
#include "worker/comm/flight_recorder.h"

#include <latch>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "worker/comm/local_group.h"

namespace trireme {
namespace {

using ::testing::HasSubstr;

// Not shared: the name carries the test's name, and the files live in the test's temporary folder.
std::string PathOf(const std::string& name) {
  return ::testing::TempDir() + "flight_" +
         ::testing::UnitTest::GetInstance()->current_test_info()->name() + "_" + name;
}

CallHeader Call(uint64_t sequence) {
  CallHeader call;
  call.op = CommOp::kAllReduce;
  call.group = 3;
  call.sequence = sequence;
  call.bytes = 4096;
  return call;
}

TEST(FlightRecorder, KeepsTheLastCallsAndTheRunningOne) {
  const std::string path = PathOf("a");
  auto recorder = FlightRecorder::Create(path, 5);
  ASSERT_TRUE(recorder.ok()) << recorder.status();
  for (uint64_t i = 0; i < 100; ++i) {
    (*recorder)->SetProgress({.step = static_cast<int64_t>(i / 10), .item = 2, .instruction = 9});
    (*recorder)->Start(Call(i), 1000 * i);
    if (i < 99) (*recorder)->Finish(i != 50, 1000 * i + 500);
  }
  const auto recording = ReadFlightRecorder(path);
  ASSERT_TRUE(recording.ok()) << recording.status();
  EXPECT_EQ(recording->rank, 5);
  ASSERT_EQ(recording->calls.size(), static_cast<size_t>(kFlightRecords));
  for (size_t i = 0; i < recording->calls.size(); ++i) {
    EXPECT_EQ(recording->calls[i].sequence, 36 + i);
  }
  EXPECT_EQ(recording->calls[50 - 36].state, CallState::kFailed);
  EXPECT_EQ(recording->calls[60 - 36].state, CallState::kDone);
  EXPECT_EQ(recording->calls.back().state, CallState::kStarted);
  const std::string text = ToText(*recording, /*now_ns=*/99000 + 2000000000);
  EXPECT_THAT(text, HasSubstr("rank=5 step=9 item=2 instruction=9\n"));
  EXPECT_THAT(text, HasSubstr("all_reduce #99 group=3 bytes=4096 started step=9 item=2 "
                              "instruction=9 age=2.000000s\n"));
  EXPECT_THAT(text, HasSubstr("all_reduce #50 group=3 bytes=4096 failed step=5"));
}

TEST(FlightRecorder, MissingAndForeignFilesAreErrors) {
  EXPECT_EQ(ReadFlightRecorder(PathOf("none")).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(ReadFlightRecorder("/proc/self/status").status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(FlightRecorder::Create("/no/such/folder/x", 0).status().code(),
            absl::StatusCode::kInvalidArgument);
}

// A reader next to a busy writer sees whole records only: sequence and bytes of each belong
// together.
TEST(FlightRecorder, ReadersNeverSeeHalfARecord) {
  const std::string path = PathOf("busy");
  auto recorder = FlightRecorder::Create(path, 0);
  ASSERT_TRUE(recorder.ok());
  std::thread writer([&] {
    for (uint64_t i = 0; i < 20000; ++i) {
      CallHeader call = Call(i);
      call.bytes = static_cast<int64_t>(3 * i);
      (*recorder)->Start(call, static_cast<int64_t>(i));
      (*recorder)->Finish(true, static_cast<int64_t>(i));
    }
  });
  for (int round = 0; round < 200; ++round) {
    const auto recording = ReadFlightRecorder(path);
    ASSERT_TRUE(recording.ok());
    for (const CallRecord& call : recording->calls) {
      ASSERT_EQ(call.bytes, static_cast<int64_t>(3 * call.sequence));
      ASSERT_EQ(call.start_ns, static_cast<int64_t>(call.sequence));
    }
  }
  writer.join();
}

// While rank 0 waits for a rank that does not come, its file says in which call and where in the
// schedule.
TEST(FlightRecorder, ShowsAStuckRankOfACommunicator) {
  std::vector<std::unique_ptr<FlightRecorder>> recorders;
  LocalGroupOptions options;
  for (int32_t rank = 0; rank < 2; ++rank) {
    auto recorder = FlightRecorder::Create(PathOf(std::to_string(rank)), rank);
    ASSERT_TRUE(recorder.ok());
    recorders.push_back(*std::move(recorder));
    options.recorders.push_back(recorders.back().get());
  }
  const GroupRanks pair{8, {0, 1}};
  const auto results = RunRanks(
      2, Transport::kShm,
      [&](Communicator& comm) -> Status {
        comm.SetProgress(12, 3, 44);
        RETURN_IF_ERROR(comm.Barrier(pair));
        if (comm.rank() == 0) return comm.Barrier(pair);
        for (bool stuck = false; !stuck;) {  // ends because rank 0 is on its way into the call
          const auto recording = ReadFlightRecorder(PathOf("0"));
          if (!recording.ok()) return recording.status();
          const CallRecord& last = recording->calls.back();
          stuck = last.sequence == 1 && last.state == CallState::kStarted;
          if (stuck) {
            EXPECT_EQ(last.progress.instruction, 44);
          }
          std::this_thread::yield();
        }
        comm.Abort("seen");
        return {};
      },
      options);
  EXPECT_EQ(results[0].code(), absl::StatusCode::kAborted) << results[0];
  const auto recording = ReadFlightRecorder(PathOf("0"));
  ASSERT_TRUE(recording.ok());
  ASSERT_EQ(recording->calls.size(), 2u);
  EXPECT_EQ(recording->calls[0].state, CallState::kDone);
  EXPECT_EQ(recording->calls[1].state, CallState::kFailed);
}

}  // namespace
}  // namespace trireme
