// The training loop on a model of one number: steps, metrics, checkpoints, resuming, and stopping
// together.
#include "worker/rank/trainer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <iterator>
#include <mutex>

#include "common/formats/checkpoint_manifest.h"
#include "common/formats/checkpoint_reader.h"
#include "common/formats/test_folder.h"
#include "worker/checkpoint/checkpoint.h"
#include "worker/comm/local_group.h"
#include "worker/rank/test_job.h"

namespace trireme {
namespace {

using ::testing::ElementsAre;

// What the ranks told, in order.
struct Told {
  std::mutex mutex;
  std::vector<int64_t> first_steps;
  std::vector<StepReport> steps;
  std::vector<std::pair<int64_t, std::string>> checkpoints;
};

TrainerEvents Record(
    Told& told, std::function<bool()> stop = [] { return false; }) {
  return {.ready = [&told](int64_t first, int64_t arena, int64_t parameters) -> Status {
            const std::lock_guard<std::mutex> lock(told.mutex);
            told.first_steps.push_back(first);
            EXPECT_GT(arena, parameters);
            return absl::OkStatus();
          },
          .step = [&told](const StepReport& report) -> Status {
            const std::lock_guard<std::mutex> lock(told.mutex);
            told.steps.push_back(report);
            return absl::OkStatus();
          },
          .checkpoint = [&told](int64_t step, const std::string& folder, int64_t) -> Status {
            const std::lock_guard<std::mutex> lock(told.mutex);
            told.checkpoints.emplace_back(step, folder);
            return absl::OkStatus();
          },
          .stop_requested = std::move(stop)};
}

class TrainerTest : public ::testing::Test {
 protected:
  TrainerTest() {
    WriteText(folder_);
    options_.job = "tiny";
    options_.attempt = 1;
    options_.data.paths = {folder_.File("text")};
    options_.checkpoint_path = folder_.File("ckpt");
  }

  float SavedWeight(const std::string& folder, int64_t num_ranks, int64_t step) {
    const Status status =
        CommitCheckpoint({.folder = folder, .num_ranks = num_ranks, .attempt = 1, .step = step});
    EXPECT_TRUE(status.ok()) << status;
    auto reader = CheckpointReader::Open(folder);
    float value = -1;
    EXPECT_TRUE(reader.ok() && reader->ReadRegion("w", {0}, {1}, {&value, 1}).ok());
    return value;
  }

  TestFolder folder_;
  TrainerOptions options_;
};

TEST_F(TrainerTest, TrainsSavesAndResumes) {
  const RankProgram program = CountingProgram(1, /*steps=*/5);
  Told told;
  options_.checkpoint_every = 2;
  const StatusOr<int64_t> done = Train(options_, program, nullptr, Record(told));
  ASSERT_TRUE(done.ok()) << done.status();
  EXPECT_EQ(*done, 5);
  EXPECT_THAT(told.first_steps, ElementsAre(0));
  ASSERT_EQ(told.steps.size(), 5u);
  EXPECT_EQ(told.steps[0].step, 1);
  EXPECT_EQ(told.steps[4].result.loss, 2.0);
  EXPECT_EQ(told.steps[4].result.tokens, 32.0);
  ASSERT_EQ(told.checkpoints.size(), 3u);  // after 2, 4 and the last
  EXPECT_EQ(told.checkpoints[2].first, 5);
  EXPECT_EQ(SavedWeight(told.checkpoints[1].second, 1, 4), 1 + 4 * 16.0f);
  EXPECT_EQ(SavedWeight(told.checkpoints[2].second, 1, 5), 1 + 5 * 16.0f);

  Told resumed;
  options_.checkpoint_load = told.checkpoints[1].second;
  options_.checkpoint_path = folder_.File("again");
  ASSERT_TRUE(Train(options_, program, nullptr, Record(resumed)).ok());
  EXPECT_THAT(resumed.first_steps, ElementsAre(4));
  ASSERT_EQ(resumed.checkpoints.size(), 1u);
  EXPECT_EQ(SavedWeight(resumed.checkpoints[0].second, 1, 5), 1 + 5 * 16.0f);
  EXPECT_EQ(ReadManifest(resumed.checkpoints[0].second)->tokens_seen, 5 * 32);
}

TEST_F(TrainerTest, WritesDownTheStepsAsked) {
  const RankProgram program = CountingProgram(1, /*steps=*/4);
  Told told;
  options_.trace_path = folder_.File("trace");
  options_.trace_first_step = 1;
  options_.trace_steps = 2;
  ASSERT_TRUE(Train(options_, program, nullptr, Record(told)).ok());
  std::ifstream file(folder_.File("trace") + "/rank-00000.trace.json");
  const std::string json((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  size_t updates = 0;
  for (size_t at = json.find("U2"); at != std::string::npos; at = json.find("U2", at + 1)) {
    ++updates;
  }
  EXPECT_GT(updates, 0u) << json;
  EXPECT_EQ(updates % 2, 0u) << "the same calls in two steps";
}

TEST_F(TrainerTest, AJobThatStopsEarlyLeavesItsTrace) {
  const RankProgram program = CountingProgram(1, /*steps=*/9);
  Told told;
  options_.trace_path = folder_.File("trace");
  options_.trace_first_step = 0;
  options_.trace_steps = 5;
  ASSERT_TRUE(Train(options_, program, nullptr, Record(told, [] { return true; })).ok());
  EXPECT_EQ(told.steps.size(), 1u);
  std::ifstream file(folder_.File("trace") + "/rank-00000.trace.json");
  const std::string json((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  EXPECT_NE(json.find("U2"), std::string::npos) << json;
}

TEST_F(TrainerTest, AllRanksStopAfterTheSameStep) {
  const RankProgram program = CountingProgram(2, /*steps=*/1000);
  Told told;
  std::vector<int64_t> done(2, -1);
  const auto results = RunRanks(2, Transport::kShm, [&](Communicator& comm) -> Status {
    TrainerOptions options = options_;
    options.rank = comm.rank();
    // Only rank 1 is asked, when rank 0 has told three steps.
    const auto stop = [&, rank = comm.rank()] {
      const std::lock_guard<std::mutex> lock(told.mutex);
      return rank == 1 && told.steps.size() >= 3;
    };
    const TrainerEvents events = Record(told, stop);
    ASSIGN_OR_RETURN(done[comm.rank()], Train(options, program, &comm, events));
    return absl::OkStatus();
  });
  for (const Status& status : results) EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(done[0], done[1]);
  EXPECT_GE(done[0], 3);
  EXPECT_LE(done[0], 5);
  EXPECT_EQ(static_cast<int64_t>(told.steps.size()), done[0]);  // rank 0 alone reports
  EXPECT_TRUE(told.checkpoints.empty());
}

TEST(ReportingRank, IsOnTheLastStage) {
  RankProgram program;
  program.mesh = *Mesh::Create({{"data", 2}, {"stage", 3}});
  EXPECT_EQ(ReportingRank(program), 0);
  program.stage_axis = 1;
  EXPECT_EQ(ReportingRank(program), 4);
}

}  // namespace
}  // namespace trireme
