// The core as a whole under virtual time, with a store in memory and workers that are lists of
// messages.
#include "coordinator/service/core.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/math.h"
#include "common/config/parse.h"
#include "coordinator/service/router_warnings.h"
#include "coordinator/service/test_planner.h"

namespace trireme {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using v1::Job;

class CoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto store = JobStore::Open(":memory:");
    ASSERT_TRUE(store.ok()) << store.status();
    store_ = *std::move(store);
    core_ = MakeCore();
  }

  std::unique_ptr<Core> MakeCore() {
    CoreOptions options;
    options.cluster.op_table_hash = 7;
    return std::make_unique<Core>(options, store_.get(),
                                  [this](const std::string& worker, const v1::WorkerDown& message) {
                                    sent_.push_back({worker, message});
                                  });
  }

  Now At(int64_t ms) { return {ms, 1000000 + ms}; }

  static v1::Register Registration(const std::string& worker, int32_t devices,
                                   int64_t incarnation = 1) {
    v1::Register request;
    request.set_worker(worker);
    request.set_device_kind("cpu");
    request.set_num_devices(devices);
    request.set_incarnation(incarnation);
    request.set_op_table_hash(7);
    return request;
  }
  void Join(const v1::Register& request, int64_t ms = 0) {
    ASSERT_TRUE(core_->Register(request, At(ms)).ok());
    core_->Resume(request, At(ms));
  }

  StatusOr<Job> Create(const std::string& name, int devices, const std::string& request_id = "") {
    const auto spec = ParseJob(TestJobText(name, devices), "test.yaml");
    EXPECT_TRUE(spec.ok()) << spec.status();
    return core_->CreateJob(*spec, {request_id, StableHash(JobToJson(*spec))}, At(0));
  }
  Job Get(const std::string& name) { return (*core_->Find(name))->machine.job(); }

  // Plans whatever can start.
  int PlanAll(int64_t ms = 1) {
    int started = 0;
    while (auto task = core_->NextTask(At(ms))) {
      core_->FinishTask(*task, "token", PlanAttempt(task->spec, task->gang, planner_), At(ms));
      ++started;
    }
    return started;
  }
  void Say(const std::string& worker, const std::string& job, int32_t rank,
           const std::function<void(v1::RankUpdate&)>& fill) {
    v1::WorkerUp up;
    up.mutable_rank()->set_job(job);
    up.mutable_rank()->set_attempt(1);
    up.mutable_rank()->set_rank(rank);
    fill(*up.mutable_rank());
    core_->WorkerSays(worker, up, At(2));
  }
  void End(const std::string& worker, const std::string& job, int64_t attempt = 1) {
    v1::WorkerUp up;
    up.mutable_ended()->set_job(job);
    up.mutable_ended()->set_attempt(attempt);
    core_->WorkerSays(worker, up, At(3));
  }
  int Busy(const std::string& worker) {
    const v1::ListNodesResponse nodes = core_->ListNodes(At(0));
    for (const v1::Node& node : nodes.nodes()) {
      if (node.name() == worker) return node.busy_devices();
    }
    return -1;
  }

  std::unique_ptr<JobStore> store_;
  std::vector<WorkerMessage> sent_;
  TestPlanner planner_;
  std::unique_ptr<Core> core_;
};

TEST_F(CoreTest, AJobWaitsForWorkersAndStartsWhenTheyCome) {
  ASSERT_TRUE(Create("t", 2).ok());
  EXPECT_EQ(PlanAll(), 0);
  EXPECT_THAT(Get("t-1").reason(), HasSubstr("no worker is connected"));
  Join(Registration("a", 1));
  EXPECT_EQ(PlanAll(), 0);
  EXPECT_THAT(Get("t-1").reason(), HasSubstr("1 free of 1 cpu"));
  Join(Registration("b", 1));
  EXPECT_EQ(PlanAll(), 1);
  EXPECT_EQ(Get("t-1").state(), Job::STARTING);
  EXPECT_EQ(Get("t-1").sub_phase(), Job::FETCHING);
  ASSERT_EQ(sent_.size(), 2u);
  const v1::Assign& assign = sent_[1].message.assign();
  EXPECT_EQ(sent_[1].worker, "b");
  EXPECT_EQ(assign.token(), "token");
  EXPECT_EQ(assign.checkpoint().path(), "/ckpt");
  EXPECT_TRUE(assign.load_newest());
  const auto program = core_->FindProgram(assign.ranks(0).program_sha256());
  ASSERT_TRUE(program.ok());
  EXPECT_FALSE((*program)->empty());
  EXPECT_EQ(Busy("a"), 1);
}

TEST_F(CoreTest, DevicesAreFreeAgainOnlyWhenTheWorkerSaysSo) {
  Join(Registration("a", 2));
  ASSERT_TRUE(Create("x", 2).ok());
  ASSERT_TRUE(Create("y", 2).ok());
  EXPECT_EQ(PlanAll(), 1);
  EXPECT_THAT(Get("y-2").reason(), HasSubstr("2 busy: jobs/x-1"));
  Say("a", "jobs/x-1", 0, [](auto& update) { update.mutable_failed()->set_message("boom"); });
  EXPECT_EQ(Get("x-1").state(), Job::FAILED);
  EXPECT_EQ(PlanAll(), 0);
  End("a", "jobs/x-1");
  EXPECT_TRUE(sent_.back().message.has_release());
  EXPECT_EQ(PlanAll(), 1);
  EXPECT_EQ(Get("y-2").state(), Job::STARTING);
  EXPECT_FALSE(core_->FindProgram("0").ok());
}

TEST_F(CoreTest, AFailedPlanGivesTheDevicesBack) {
  Join(Registration("a", 2));
  ASSERT_TRUE(Create("unplannable", 2).ok());
  PlanAll();
  EXPECT_EQ(Get("unplannable-1").state(), Job::FAILED);
  EXPECT_THAT(Get("unplannable-1").reason(), HasSubstr("does not divide 12 heads"));
  EXPECT_EQ(Busy("a"), 0);
  EXPECT_TRUE(sent_.empty());
}

TEST_F(CoreTest, CancelWhilePlanningGivesTheDevicesBack) {
  Join(Registration("a", 2));
  ASSERT_TRUE(Create("t", 2).ok());
  auto task = core_->NextTask(At(1));
  ASSERT_TRUE(task.has_value());
  ASSERT_TRUE(core_->CancelJob("jobs/t-1", "", At(2)).ok());
  core_->FinishTask(*task, "token", PlanAttempt(task->spec, task->gang, planner_), At(3));
  EXPECT_EQ(Get("t-1").state(), Job::CANCELLED);
  EXPECT_EQ(Busy("a"), 0);
  EXPECT_TRUE(sent_.empty());
}

TEST_F(CoreTest, ARepeatedRequestCreatesNothing) {
  const auto first = Create("t", 2, "id-1");
  const auto again = Create("t", 2, "id-1");
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->name(), first->name());
  EXPECT_EQ(Create("other", 2, "id-1").status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(Create("t", 2, "id-2")->name(), "jobs/t-2");
  EXPECT_EQ(core_->ListJobs({})->jobs_size(), 2);
}

TEST_F(CoreTest, ListsNewestFirstInPages) {
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(Create(i % 2 == 0 ? "even" : "odd", 1).ok());
  v1::ListJobsRequest request;
  request.set_page_size(2);
  std::vector<std::string> names;
  do {
    const auto page = core_->ListJobs(request);
    ASSERT_TRUE(page.ok()) << page.status();
    for (const Job& job : page->jobs()) names.push_back(job.name());
    request.set_page_token(page->next_page_token());
  } while (!request.page_token().empty());
  EXPECT_THAT(names,
              ElementsAre("jobs/even-5", "jobs/odd-4", "jobs/even-3", "jobs/odd-2", "jobs/even-1"));
  request.set_display_name("odd");
  EXPECT_EQ(core_->ListJobs(request)->jobs_size(), 2);
  request.add_states(Job::RUNNING);
  EXPECT_EQ(core_->ListJobs(request)->jobs_size(), 0);
  request.set_page_token("soup");
  EXPECT_EQ(core_->ListJobs(request).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(CoreTest, ASilentWorkerFailsItsJobAndAReturningOneIsToldToStop) {
  Join(Registration("a", 2));
  ASSERT_TRUE(Create("t", 2).ok());
  PlanAll();
  for (int64_t ms = 0; ms <= 46000; ms += 1000) core_->Tick(At(ms));
  EXPECT_EQ(Get("t-1").state(), Job::FAILED);
  EXPECT_THAT(Get("t-1").reason(), HasSubstr("worker a: no sign of life for 46 s"));
  EXPECT_EQ(core_->ListNodes(At(46000)).nodes(0).state(), v1::Node::LOST);
  sent_.clear();
  v1::Register back = Registration("a", 2);
  back.add_running()->set_job("jobs/t-1");
  back.mutable_running(0)->set_attempt(1);
  Join(back, 50000);
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_TRUE(sent_[0].message.stop().kill());
  EXPECT_EQ(Busy("a"), 2);
  End("a", "jobs/t-1");
  EXPECT_EQ(Busy("a"), 0);
}

TEST_F(CoreTest, AWorkerThatMissedItsAssignmentIsToldAgain) {
  Join(Registration("a", 2));
  ASSERT_TRUE(Create("t", 2).ok());
  PlanAll();
  sent_.clear();
  core_->StreamClosed("a", 1, At(5));
  Join(Registration("a", 2), 10);  // says that nothing runs
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_TRUE(sent_[0].message.has_assign());
}

TEST_F(CoreTest, ARestartQueuesWhatWaitedAndFailsWhatRan) {
  Join(Registration("a", 2));
  ASSERT_TRUE(Create("ran", 2, "id-1").ok());
  ASSERT_TRUE(Create("waits", 2).ok());
  PlanAll();
  sent_.clear();
  core_ = MakeCore();
  ASSERT_TRUE(core_->Load(At(100)).ok());
  EXPECT_EQ(Get("ran-1").state(), Job::FAILED);
  EXPECT_THAT(Get("ran-1").reason(), HasSubstr("coordinator restarted"));
  EXPECT_EQ(Get("waits-2").state(), Job::QUEUED);
  EXPECT_EQ(Create("ran", 2, "id-1")->name(), "jobs/ran-1");
  EXPECT_EQ(Create("new", 1)->name(), "jobs/new-3");
  v1::Register back = Registration("a", 2);
  back.add_running()->set_job("jobs/ran-1");
  back.mutable_running(0)->set_attempt(1);
  Join(back, 101);
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_TRUE(sent_[0].message.has_stop());
  EXPECT_EQ(PlanAll(), 0);  // its devices are still taken
  End("a", "jobs/ran-1");
  EXPECT_EQ(PlanAll(), 1);
  EXPECT_EQ(Get("waits-2").state(), Job::STARTING);
  // All that has happened is in the store, too.
  const auto stored = store_->Load();
  ASSERT_TRUE(stored.ok());
  EXPECT_EQ((*stored)[0].events.back().code(), "COORDINATOR_RESTARTED");
}

TEST_F(CoreTest, StuckRanksAreLoggedOnceByName) {
  Join(Registration("a", 1));
  ASSERT_TRUE(Create("t", 1).ok());
  PlanAll();
  v1::WorkerUp up;
  v1::RankBeat& rank = *up.mutable_beat()->add_ranks();
  up.mutable_beat()->set_incarnation(1);
  rank.set_job("jobs/t-1");
  rank.set_no_progress_s(61.5);
  rank.set_stuck_in("all_reduce #17");
  core_->WorkerSays("a", up, At(10));
  core_->WorkerSays("a", up, At(20));
  const Journal& journal = (*core_->Find("t-1"))->journal;
  ASSERT_NE(journal.NextLine(0), nullptr);
  EXPECT_EQ(journal.NextLine(0)->text(), "no progress for 61 s in all_reduce #17");
  EXPECT_EQ(journal.NextLine(1), nullptr);
  EXPECT_EQ(core_->ListNodes(At(20)).nodes(0).ranks(0).stuck_in(), "all_reduce #17");
}

TEST_F(CoreTest, ViewsWarnOfExpertsThatAreUsedBadly) {
  Join(Registration("a", 1));
  ASSERT_TRUE(Create("t", 1).ok());
  PlanAll();
  for (int64_t step = 1; step <= kWarningSteps; ++step) {
    EXPECT_EQ(Core::View(**core_->Find("t-1")).router_warnings_size(), 0) << step;
    Say("a", "jobs/t-1", 0, [step](v1::RankUpdate& update) {
      update.mutable_step()->set_step(step);
      v1::RouterMetrics& router = *update.mutable_step()->add_routers();
      router.set_layer(1);
      router.set_assignments(1000);
      for (const float load : {0.75f, 0.125f, 0.125f}) router.add_loads(load);
    });
  }
  const Job job = Core::View(**core_->Find("t-1"));
  ASSERT_EQ(job.router_warnings_size(), 1);
  EXPECT_THAT(job.router_warnings(0).text(),
              HasSubstr("layer 1: expert 0 gets 2.2 times the mean load over the last 20 steps"));
  EXPECT_EQ(Get("t-1").router_warnings_size(), 0) << "what is stored has none";
}

TEST_F(CoreTest, RefusesAWorkerOfAnotherBuild) {
  v1::Register other = Registration("a", 1);
  other.set_op_table_hash(8);
  EXPECT_EQ(core_->Register(other, At(0)).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(core_->ListNodes(At(0)).nodes_size(), 0);
}

}  // namespace
}  // namespace trireme
