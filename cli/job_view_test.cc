// One screen says what a job does, why, and what to type next; the JSON has every key always.
#include "cli/job_view.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace trireme {
namespace {

using ::testing::HasSubstr;

v1::Job RunningJob() {
  v1::Job job;
  job.set_name("jobs/tiny-1");
  job.set_display_name("tiny");
  job.set_state(v1::Job::RUNNING);
  job.set_reason("all 4 ranks train");
  job.set_num_ranks(4);
  job.set_attempt(1);
  job.set_step(300);
  job.set_total_steps(1200);
  job.set_loss(2.5);
  job.add_hosts("host-0");
  job.add_hosts("host-1");
  job.mutable_create_time()->set_seconds(1000);
  return job;
}

TEST(JobScreen, SaysStateWhyAndNext) {
  EXPECT_EQ(JobScreen(RunningJob(), 1065),
            "tiny-1  RUNNING\n"
            "  why         all 4 ranks train\n"
            "  steps       300 of 1,200 (25 %), loss 2.5000\n"
            "  ranks       4 on host-0, host-1\n"
            "  attempt     1\n"
            "  created     1970-01-01 00:16:40 UTC (1m05s ago)\n"
            "  checkpoint  none yet\n"
            "\nnext: trireme metrics tiny-1 --follow\n");
}

TEST(JobScreen, PointsAtTheCheckpointOfAFinishedJob) {
  v1::Job job = RunningJob();
  job.set_state(v1::Job::SUCCEEDED);
  job.set_checkpoint_step(1200);
  job.set_checkpoint_folder("/ckpt/step-0001200");
  EXPECT_THAT(JobScreen(job, 0), HasSubstr("checkpoint  step 1,200 in /ckpt/step-0001200\n"));
  EXPECT_THAT(JobScreen(job, 0),
              HasSubstr("next: trireme generate --checkpoint /ckpt/step-0001200 --prompt TEXT"));
}

TEST(JobScreen, WarnsOfExpertsThatAreUsedBadly) {
  v1::Job job = RunningJob();
  v1::RouterWarning& warning = *job.add_router_warnings();
  warning.set_kind(v1::RouterWarning::OVERLOADED);
  warning.set_layer(3);
  warning.set_expert(5);
  warning.set_figure(4.1);
  warning.set_steps(20);
  warning.set_text("layer 3: expert 5 gets 4.1 times the mean load");
  EXPECT_THAT(JobScreen(job, 1065),
              HasSubstr("loss 2.5000\n"
                        "  warning     layer 3: expert 5 gets 4.1 times the mean load\n"
                        "  ranks       4"));
  auto json = nlohmann::json::parse(JobJson(job))["router_warnings"];
  ASSERT_EQ(json.size(), 1u);
  EXPECT_EQ(json[0].dump(),
            R"({"expert":5,"figure":4.1,"kind":"OVERLOADED","layer":3,"steps":20,)"
            R"("text":"layer 3: expert 5 gets 4.1 times the mean load"})");
  job.mutable_router_warnings(0)->set_expert(-1);
  json = nlohmann::json::parse(JobJson(job))["router_warnings"];
  EXPECT_TRUE(json[0]["expert"].is_null());
}

TEST(StateText, ShowsTheSubPhase) {
  EXPECT_EQ(StateText(v1::Job::STARTING, v1::Job::FETCHING), "STARTING (fetching)");
  EXPECT_EQ(StateText(v1::Job::FAILED, v1::Job::SUB_PHASE_UNSPECIFIED), "FAILED");
}

TEST(JobJson, HasEveryKeyWhateverIsKnown) {
  const auto empty = nlohmann::json::parse(JobJson(v1::Job()));
  v1::Job job = RunningJob();
  job.set_spec_json(R"({"name": "tiny"})");
  const auto json = nlohmann::json::parse(JobJson(job));
  EXPECT_EQ(json.size(), empty.size());
  EXPECT_EQ(json["id"], "tiny-1");
  EXPECT_EQ(json["create_time"], "1970-01-01T00:16:40.000Z");
  EXPECT_TRUE(json["end_time"].is_null());
  EXPECT_EQ(json["spec"]["name"], "tiny");
  EXPECT_TRUE(empty["spec"].is_null());
}

TEST(NodeJson, SaysWhatRunsThere) {
  v1::Node node;
  node.set_name("host-0");
  node.set_state(v1::Node::READY);
  node.set_num_devices(2);
  node.add_jobs("jobs/tiny-1");
  const auto json = nlohmann::json::parse(NodeJson(node));
  EXPECT_EQ(json["state"], "READY");
  EXPECT_EQ(json["jobs"][0], "jobs/tiny-1");
}

}  // namespace
}  // namespace trireme
