// Versions of both ends.
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

TEST(Version, AsksTheCoordinatorWhenTold) {
  FakeCoordinator coordinator(FinishedJob());
  EXPECT_THAT(RunWords({"version"}, VersionCommand()).out, StartsWith("trireme 0.1.0, op table "));
  EXPECT_THAT(
      RunWords({"version", "--coordinator", coordinator.address()}, VersionCommand()).out,
      HasSubstr("\ncoordinator 0.1.0, op table 0000000000000007\n"));
  const auto json = nlohmann::json::parse(RunWords({"version", "-o", "json"}, VersionCommand()).out);
  EXPECT_EQ(json["version"], "0.1.0");
}

}  // namespace
}  // namespace trireme
