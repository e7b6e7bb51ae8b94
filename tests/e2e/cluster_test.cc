// A cluster that outlives its jobs: they queue, are cancelled, and can be asked about.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include "cli/job_file.h"
#include "cli/local_cluster.h"
#include "nlohmann/json.hpp"
#include "tests/e2e/cli_process.h"

namespace trireme {
namespace {

using ::testing::HasSubstr;

// One worker with two devices.
class RunningCluster : public testing::Test {
 protected:
  void SetUp() override {
    setenv("TMPDIR", (folder_.path() + "/tmp").c_str(), 1);
    auto cluster = LocalCluster::Start(*LocalTopology(1, 2, 1), BinFolder());
    ASSERT_TRUE(cluster.ok()) << cluster.status();
    cluster_ = *std::move(cluster);
    Client client(cluster_->address());
    const Status ready = cluster_->WaitUntilReady(client, 60, [] { return false; });
    ASSERT_TRUE(ready.ok()) << ready;
    job_ = folder_.Write("job.yaml", LlamaJob());
  }

  CliResult Ask(const std::vector<std::string>& words) {
    return folder_.Run(words, {{"TRIREME_COORDINATOR", cluster_->address()}});
  }

  // Submits the job without waiting; returns its id.
  std::string Submit(const std::string& set) {
    const CliResult result = Ask({"submit", job_, "--detach", "--set", set});
    EXPECT_EQ(result.code, 0) << result.err;
    return result.out.substr(0, result.out.find('\n'));
  }

  nlohmann::json StatusOf(const std::string& id) {
    return nlohmann::json::parse(Ask({"status", id, "-o", "json"}).out, nullptr, false);
  }

  CliFolder folder_;
  std::unique_ptr<LocalCluster> cluster_;
  std::string job_;
};

TEST_F(RunningCluster, QueuesASecondJobUntilTheFirstIsCancelled) {
  const std::string first = Submit("train.steps=1000000");
  const std::string second = Submit("train.steps=2");
  while (StatusOf(first)["step"] < 2) sched_yield();
  const auto waiting = StatusOf(second);
  EXPECT_EQ(waiting["state"], "QUEUED");
  EXPECT_THAT(std::string(waiting["reason"]), HasSubstr("device"));
  EXPECT_EQ(Ask({"cancel", first, "--reason", "make room"}).code, 0);
  const CliResult followed = Ask({"metrics", second, "--follow", "-o", "json"});
  EXPECT_EQ(followed.code, 0) << followed.err;
  EXPECT_EQ(Steps(followed.out).size(), 2u);
  EXPECT_EQ(StatusOf(first)["state"], "CANCELLED");
  EXPECT_EQ(StatusOf(second)["state"], "SUCCEEDED");
}

TEST_F(RunningCluster, AnswersEveryQuestionAboutAJob) {
  const CliResult submit = Ask({"submit", job_});
  ASSERT_EQ(submit.code, 0) << submit.err;
  const std::string id = submit.out.substr(0, submit.out.find('\n'));
  EXPECT_THAT(submit.out, HasSubstr("step 6/6  loss"));
  EXPECT_THAT(Ask({"list"}).out, HasSubstr(id + "  SUCCEEDED"));
  EXPECT_THAT(Ask({"status", id}).out, HasSubstr("6 of 6 (100 %)"));
  EXPECT_THAT(Ask({"schedule", id}).out, HasSubstr("stage 0, ranks 0-1"));
  EXPECT_THAT(Ask({"nodes"}).out, HasSubstr("host-0"));
  EXPECT_EQ(Ask({"logs", id}).code, 0);
  EXPECT_THAT(Ask({"version", "--coordinator", cluster_->address()}).out, HasSubstr("coordinator"));
  EXPECT_THAT(Ask({"plan", job_}).out, HasSubstr("2 ranks on cpu"));
  EXPECT_EQ(Ask({"status", "nobody"}).code, 3);
  EXPECT_EQ(Ask({"cancel", id}).code, 6);
}

}  // namespace
}  // namespace trireme
