// A rank that is killed while all train: the job fails, says which, and nothing goes on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>

#include <sstream>

#include "tests/e2e/cli_process.h"

namespace trireme {
namespace {

using ::testing::HasSubstr;

struct Training {
  std::string name;
  std::string job;
  std::vector<std::string> sets;
};

void PrintTo(const Training& training, std::ostream* out) { *out << training.name; }

// A rank process among those of the folder; 0 when there is none.
pid_t SomeRank(const CliFolder& folder) {
  std::istringstream lines(folder.LeftProcesses());
  for (std::string line; std::getline(lines, line);) {
    if (line.find("--rank-fd") != std::string::npos) return std::stoi(line);
  }
  return 0;
}

class KilledRank : public testing::TestWithParam<Training> {};

TEST_P(KilledRank, FailsTheJobAndIsNamed) {
  const CliFolder folder;
  std::vector<std::string> words = {"run",
                                    folder.Write("job.yaml", GetParam().job),
                                    "-o",
                                    "json",
                                    "--hosts",
                                    "2",
                                    "--devices-per-host",
                                    "2",
                                    "--set",
                                    "train.steps=1000000"};
  for (const std::string& set : GetParam().sets) {
    words.push_back("--set");
    words.push_back(set);
  }
  Subprocess run = folder.Start(words);
  while (Steps(folder.Out()).size() < 2 && run.running()) sched_yield();
  const pid_t pid = SomeRank(folder);
  ASSERT_GT(pid, 0) << folder.Err();
  ASSERT_EQ(kill(pid, SIGKILL), 0);
  EXPECT_EQ(run.Wait(), 1) << folder.Err();
  const std::string said = folder.Err();
  EXPECT_THAT(said, HasSubstr("tiny-1 FAILED"));
  EXPECT_THAT(said, HasSubstr("its process was killed by signal 9"));
  // The log says which rank had that process.
  bool named = false;
  for (int rank = 0; rank < 4; ++rank) {
    const std::string number = std::to_string(rank);
    if (said.find("rank=" + number + " pid=" + std::to_string(pid) + "\n") == std::string::npos) {
      continue;
    }
    EXPECT_THAT(said, HasSubstr("rank " + number + " on worker host-" + std::to_string(rank / 2) +
                                " failed"));
    named = true;
  }
  EXPECT_TRUE(named) << said;
  EXPECT_EQ(folder.LeftProcesses(), "");
  EXPECT_THAT(folder.LeftFiles(), testing::IsSubsetOf({"corpus.txt.tokens"}));
}

const Training kTrainings[] = {
    {"Dense", LlamaJob(), {"mesh.axes={data: 2, model: 2}"}},
    {"ExpertsAllToAll",
     MixtralJob(),
     {"mesh.axes={data: 1, expert: 4}", "moe.dispatch=all_to_all"}},
    {"ExpertsRingByStages", GrugJob(), {"mesh.axes={data: 1, expert: 2, stage: 2}"}},
};

INSTANTIATE_TEST_SUITE_P(Trainings, KilledRank, testing::ValuesIn(kTrainings),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace trireme
