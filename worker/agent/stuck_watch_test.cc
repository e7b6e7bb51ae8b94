// When a rank counts as stuck, and what it is said to be stuck in.
#include "worker/agent/stuck_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace trireme {
namespace {

using ::testing::HasSubstr;

FlightRecording InCall(uint64_t sequence, CallState state) {
  FlightRecording recording;
  recording.progress = {5, 2, 9};
  CallRecord call;
  call.sequence = sequence;
  call.op = CommOp::kBarrier;
  call.state = state;
  call.progress = recording.progress;
  call.start_ns = 1;
  recording.calls = {call};
  return recording;
}

TEST(StuckWatch, NamesTheCallAfterALongTimeWithoutProgress) {
  StuckWatch watch(30000);
  v1::RankBeat beat;
  watch.Look("p", InCall(17, CallState::kStarted), 1000, 2, beat);
  EXPECT_EQ(beat.no_progress_s(), 0);
  watch.Look("p", InCall(17, CallState::kStarted), 30999, 2, beat);
  EXPECT_EQ(beat.stuck_in(), "");
  watch.Look("p", InCall(17, CallState::kStarted), 31000, 2, beat);
  EXPECT_EQ(beat.no_progress_s(), 30);
  EXPECT_THAT(beat.stuck_in(), HasSubstr("#17"));
}

TEST(StuckWatch, AnyChangeIsProgress) {
  StuckWatch watch(30000);
  v1::RankBeat beat;
  watch.Look("p", InCall(17, CallState::kStarted), 0, 2, beat);
  watch.Look("p", InCall(17, CallState::kDone), 40000, 2, beat);
  EXPECT_EQ(beat.no_progress_s(), 0);
  EXPECT_EQ(beat.stuck_in(), "");
  watch.Look("p", InCall(17, CallState::kDone), 80000, 2, beat);
  EXPECT_THAT(beat.stuck_in(), HasSubstr("computing, step 5 item 2 instruction 9"));
}

}  // namespace
}  // namespace trireme
