// Hosts are shown with what they have and do.
#include "cli/commands/commands.h"
#include "cli/testing/fake_coordinator.h"
#include "cli/testing/run_words.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace trireme {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(Nodes, ShowsWhoHasWhat) {
  FakeAnswers answers = FinishedJob();
  v1::Node node;
  node.set_name("host-0");
  node.set_slice("0");
  node.set_device_kind("cpu");
  node.set_num_devices(2);
  node.set_busy_devices(1);
  node.set_state(v1::Node::LOST);
  node.set_reason("silent for 50 s");
  node.set_last_beat_age_s(50);
  node.add_jobs("jobs/tiny-1");
  answers.nodes = {node};
  FakeCoordinator coordinator(answers);
  const Outcome outcome = RunWords({"nodes"}, NodesCommand(), coordinator.address());
  EXPECT_EQ(outcome.code, kExitOk) << outcome.err;
  EXPECT_EQ(outcome.out,
            "node    slice  device  count  busy  state                  heard       jobs\n"
            "host-0      0  cpu         2     1  LOST: silent for 50 s  50.0 s ago  tiny-1\n");
  EXPECT_EQ(nlohmann::json::parse(
                RunWords({"nodes", "-o", "json"}, NodesCommand(), coordinator.address()).out)["state"],
            "LOST");
}

TEST(Nodes, SaysWhatToDoWithoutWorkersOrCoordinator) {
  std::string address;
  {
    FakeCoordinator coordinator(FinishedJob());
    address = coordinator.address();
    EXPECT_THAT(RunWords({"nodes"}, NodesCommand(), address).out, HasSubstr("trireme-worker"));
  }
  const Outcome outcome = RunWords({"nodes", "--coordinator", address}, NodesCommand());
  EXPECT_EQ(outcome.code, kExitUnreachable);
  EXPECT_THAT(outcome.err, StartsWith("trireme: no coordinator answers at " + address));
}

}  // namespace
}  // namespace trireme
