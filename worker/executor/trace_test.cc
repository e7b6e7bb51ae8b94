// The JSON that viewers read, and the time both tracks were busy.
#include "worker/executor/trace.h"

#include <gtest/gtest.h>

namespace trireme {
namespace {

TEST(Trace, WritesChromeEvents) {
  TraceRecorder trace(3);
  trace.Add({TraceTrack::kTransfer, "permute of \"x\"", 2000, 4500});
  const std::string json = trace.ToJson();
  EXPECT_NE(json.find("\"name\":\"rank 3\""), std::string::npos) << json;
  EXPECT_NE(json.find("{\"ph\":\"X\",\"pid\":3,\"tid\":1,\"name\":\"permute of \\\"x\\\"\","
                      "\"ts\":2.000,\"dur\":2.500}"),
            std::string::npos)
      << json;
  EXPECT_FALSE(trace.Write("/nowhere/x.json").ok());
}

TEST(Trace, OverlapCountsTimeInWhichBothAreBusy) {
  const std::vector<TraceEvent> events = {{TraceTrack::kCompute, "a", 0, 10},
                                          {TraceTrack::kTransfer, "b", 5, 20},
                                          {TraceTrack::kCompute, "c", 12, 15},
                                          {TraceTrack::kCompute, "d", 30, 40}};
  EXPECT_EQ(OverlapNs(events), 8);
  EXPECT_EQ(OverlapNs({}), 0);
}

}  // namespace
}  // namespace trireme
