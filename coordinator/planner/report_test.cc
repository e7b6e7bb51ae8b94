// The short texts of a plan, word for word: people and bug reports rely on them.
#include "coordinator/planner/report.h"

#include "coordinator/planner/fake_plan.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace trireme {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(CheckFits, AcceptsDevicesWithoutALimit) {
  EXPECT_TRUE(CheckFits(FakePlan(), {"cpu", 0, 0, ""}).ok());
}

// The reserve counts: the second stage needs 19456 + 1024 bytes.
TEST(CheckFits, CountsTheReserve) {
  EXPECT_TRUE(CheckFits(FakePlan(), {"gpu", 20480, 1024, ""}).ok());
  const Status status = CheckFits(FakePlan(), {"gpu", 20479, 1024, ""});
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("a rank of stage 1 needs 20.0 KiB (params "),
                    HasSubstr(", reserve 1.0 KiB) and gpu has")));
  EXPECT_THAT(std::string(status.message()), HasSubstr("1 B too much; parameters, gradients"));
}

TEST(CheckFits, AdvisesAboutActivationsWhenTheyTakeMost) {
  Plan plan = FakePlan();
  plan.memory[0].activations = plan.memory[0].total = 1 << 20;
  const Status status = CheckFits(plan, {"gpu", 65536, 1024, ""});
  EXPECT_THAT(std::string(status.message()), HasSubstr("train.remat=block"));
}

TEST(PlanSummary, IsTheScreenPeopleSee) {
  EXPECT_EQ(PlanSummary(FakePlan(), {"gpu", 40960, 1024, ""}),
            R"(job        tiny: 4 ranks on gpu, 2 stages
mesh       {model 2 | stage 2}
batch      16 sequences of 128 tokens; a replica works on 4 microbatches of 4 sequences
run        20 steps, seed 0

hosts
  host    ranks  stage
  host-0  0-1        0
  host-1  2-3        1

memory of a rank
  stage   params    grads  optimizer  activations     total  reserve
      0  4.0 KiB  4.0 KiB    8.0 KiB      2.0 KiB  18.0 KiB  1.0 KiB
      1  4.0 KiB  4.0 KiB    8.0 KiB      3.0 KiB  19.0 KiB  1.0 KiB
  fits: at most 20.0 KiB of 40.0 KiB (50 %) of gpu

collectives of a rank and step
  stage  op          axes     fabric  count     bytes
      0  all_reduce  (model)  ici         6  96.0 KiB
      1  all_reduce  (model)  ici         6  96.0 KiB
      1  all_reduce  (stage)  dcn         1     512 B
  a rank moves at most 96.0 KiB over ici and 512 B over dcn a step

notes
  VOCAB_PADDED  vocab 65 is padded to 66 so that model 2 divides it
)");
}

TEST(PlanSummary, SaysWhyItDoesNotFit) {
  EXPECT_THAT(PlanSummary(FakePlan(), {"gpu", 8192, 1024, ""}),
              HasSubstr("does not fit: a rank of stage 0 needs 19.0 KiB"));
}

TEST(PlanSummary, CountsHostsItDoesNotList) {
  Plan plan = FakePlan();
  for (int64_t rank = 4; rank < 40; ++rank) {
    plan.ranks.push_back({rank, "host-" + std::to_string(rank), 0, {0, 0}, 0});
  }
  EXPECT_THAT(PlanSummary(plan, {"cpu", 0, 0, ""}), HasSubstr("... and 30 more hosts\n"));
}

TEST(PlanProgram, ShowsEveryStage) {
  const std::string text = PlanProgram(FakePlan());
  EXPECT_THAT(text, HasSubstr("stage 0 on {model 2 | stage 2} arena 6144 bytes\n"));
  EXPECT_THAT(text, HasSubstr("\n\nstage 1 on"));
}

TEST(PlanSchedule, JoinsStagesThatDoTheSame) {
  Plan plan = FakePlan();
  EXPECT_THAT(PlanSchedule(plan), HasSubstr("\nstages 0-1: F0 B0 U1\n"));
  plan.schedules[1].items.pop_back();
  EXPECT_THAT(PlanSchedule(plan), HasSubstr("\nstage 0: F0 B0 U1\nstage 1: F0 B0\n"));
}

TEST(PlanSummary, SaysWhatIsPredicted) {
  Plan plan = FakePlan();
  plan.prediction = FakePrediction();
  EXPECT_THAT(PlanSummary(plan, {"cpu", 0, 0, ""}),
              HasSubstr("run        20 steps, seed 0\n"
                        "predicted  step 33 ms (compute 28 ms, exposed transfers 3 ms, hidden 4 "
                        "ms), bubble 6 %, 62.1k tok/s (uncalibrated)\n\n"));
}

TEST(PlanGrid, DrawsThePredictedStep) {
  Plan plan = FakePlan();
  plan.prediction = FakePrediction();
  EXPECT_THAT(PlanGrid(FakePlan()), HasSubstr("\nnot predicted: drawn with equal costs\n"));
  const std::string text = PlanGrid(plan);
  EXPECT_THAT(text, HasSubstr("stage 0 | F0-"));
  EXPECT_THAT(text, HasSubstr("stage 1 | F0-"));
  EXPECT_THAT(text, HasSubstr(" ms; F forward"));
  EXPECT_THAT(text, HasSubstr(R"(
predicted step 33 ms (compute 28 ms, exposed transfers 3 ms, hidden 4 ms), bubble 6 %, 62.1k tok/s (uncalibrated)
  stage  busy  compute  exposed  hidden  sends  waits
      0  94 %    28 ms     3 ms    4 ms    0 s   2 ms
      1  94 %    28 ms     3 ms    4 ms    0 s   2 ms
)"));
}

}  // namespace
}  // namespace trireme
