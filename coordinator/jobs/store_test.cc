// What the store keeps across a reopen, and the fence of commits. Files live in a fresh temporary
// folder a test.
#include "coordinator/jobs/store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace trireme {
namespace {

using ::testing::HasSubstr;

class JobStoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "trireme_store_XXXXXX");
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string Path() const { return folder_ + "/jobs.db"; }
  std::unique_ptr<JobStore> Open() {
    auto store = JobStore::Open(Path());
    EXPECT_TRUE(store.ok()) << store.status();
    return store.ok() ? *std::move(store) : nullptr;
  }

  std::string folder_;
};

v1::JobEvent Event(int64_t revision, const std::string& code) {
  v1::JobEvent event;
  event.set_revision(revision);
  event.set_code(code);
  return event;
}

StoredJob Job(int64_t number, const std::string& name) {
  StoredJob job;
  job.number = number;
  job.job.set_name(name);
  job.job.set_state(v1::Job::QUEUED);
  job.request = {"request-" + std::to_string(number), 0xfedcba9876543210u};
  job.events = {Event(1, "CREATED")};
  return job;
}

TEST_F(JobStoreTest, JobsAndEventsSurviveAReopen) {
  {
    auto store = Open();
    ASSERT_TRUE(store->Create(Job(1, "jobs/a-1")).ok());
    ASSERT_TRUE(store->Create(Job(2, "jobs/b-2")).ok());
    StoredJob changed = Job(1, "jobs/a-1");
    changed.job.set_state(v1::Job::RUNNING);
    changed.job.set_attempt(1);
    ASSERT_TRUE(store->Update(changed.job, {Event(2, "PLANNING"), Event(3, "RUNNING")}).ok());
  }
  const auto jobs = Open()->Load();
  ASSERT_TRUE(jobs.ok()) << jobs.status();
  ASSERT_EQ(jobs->size(), 2u);
  EXPECT_EQ((*jobs)[0].job.state(), v1::Job::RUNNING);
  EXPECT_EQ((*jobs)[0].events.size(), 3u);
  EXPECT_EQ((*jobs)[0].events[2].code(), "RUNNING");
  EXPECT_EQ((*jobs)[1].number, 2);
  EXPECT_EQ((*jobs)[1].request.id, "request-2");
  EXPECT_EQ((*jobs)[1].request.text_hash, 0xfedcba9876543210u);
}

TEST_F(JobStoreTest, ANameIsStoredOnce) {
  auto store = Open();
  ASSERT_TRUE(store->Create(Job(1, "jobs/a-1")).ok());
  EXPECT_FALSE(store->Create(Job(2, "jobs/a-1")).ok());
  EXPECT_EQ(store->Load()->size(), 1u);  // the failed one left nothing, and no open transaction
  EXPECT_TRUE(store->Create(Job(3, "jobs/c-3")).ok());
}

TEST_F(JobStoreTest, OnlyTheNewestAttemptMayCommit) {
  auto store = Open();
  StoredJob job = Job(1, "jobs/a-1");
  job.job.set_attempt(2);
  ASSERT_TRUE(store->Create(job).ok());
  const Status old = store->RecordCommit({"jobs/a-1", 1, 10, "/ckpt/10", 4}, 1);
  EXPECT_EQ(old.code(), absl::StatusCode::kAborted);
  EXPECT_THAT(std::string(ToStd(old.message())), HasSubstr("not its newest"));
  EXPECT_TRUE(store->RecordCommit({"jobs/a-1", 2, 10, "/ckpt/10", 4}, 1).ok());
  EXPECT_FALSE(store->RecordCommit({"jobs/none-9", 1, 10, "/ckpt/10", 4}, 1).ok());
  const auto commits = store->Commits("jobs/a-1");
  ASSERT_TRUE(commits.ok());
  ASSERT_EQ(commits->size(), 1u);
  EXPECT_EQ((*commits)[0].attempt, 2);
  EXPECT_EQ((*commits)[0].folder, "/ckpt/10");
}

TEST_F(JobStoreTest, RefusesAFileThatIsNoStoreAndOneInUse) {
  std::ofstream(Path()) << std::string(4096, 'x');
  const auto bad = JobStore::Open(Path());
  EXPECT_EQ(bad.status().code(), absl::StatusCode::kInvalidArgument) << bad.status();
  std::filesystem::remove(Path());
  auto first = Open();
  const auto second = JobStore::Open(Path());
  EXPECT_EQ(second.status().code(), absl::StatusCode::kFailedPrecondition) << second.status();
}

}  // namespace
}  // namespace trireme
