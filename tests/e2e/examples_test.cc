// The jobs in deploy/examples are what they say: four CPU ranks, nothing to complain about.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/e2e/cli_process.h"

namespace trireme {
namespace {

TEST(Examples, PlanOnFourRanks) {
  const CliFolder folder;
  int examples = 0;
  for (const auto& entry : std::filesystem::directory_iterator("deploy/examples")) {
    const std::string path = std::filesystem::absolute(entry.path()).string();
    const CliResult plan =
        folder.Run({"plan", path, "--fleet",
                    "{device: cpu, slices: 1, hosts_per_slice: 2, devices_per_host: 2}"});
    EXPECT_EQ(plan.code, 0) << path << ": " << plan.err;
    EXPECT_EQ(plan.err, "") << path;
    EXPECT_THAT(plan.out, testing::HasSubstr("4 ranks on cpu")) << path;
    ++examples;
  }
  EXPECT_GE(examples, 4) << "run the tests in the root of the repository";
}

}  // namespace
}  // namespace trireme
