// The durable memory of the coordinator: jobs, their events, and the checkpoint commits it has
// decided, in one SQLite file (write-ahead log, synchronous FULL: what returned OK survives a power
// cut). Measurements never enter it.
#ifndef TRIREME_COORDINATOR_JOBS_STORE_H_
#define TRIREME_COORDINATOR_JOBS_STORE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "coordinator/jobs/attempt.h"
#include "trireme/v1/jobs.pb.h"

struct sqlite3;

namespace trireme {

// What a client named its request, and what the request was, so that a repeated one can be told
// from another.
struct RequestRecord {
  std::string id;  // "" = none
  uint64_t text_hash = 0;
};

struct StoredJob {
  int64_t number = 0;  // of the job, counted over all jobs
  v1::Job job;
  RequestRecord request;
  std::vector<v1::JobEvent> events;  // by revision
};

// Not thread-safe: one writer, under the caller's mutex.
class JobStore {
 public:
  // Opens or makes the file; ":memory:" for tests. Errors: kFailedPrecondition if another
  // coordinator has it open or a newer version wrote it, kInvalidArgument if it is no store.
  static StatusOr<std::unique_ptr<JobStore>> Open(const std::string& path);
  ~JobStore();
  JobStore(const JobStore&) = delete;
  JobStore& operator=(const JobStore&) = delete;

  // All jobs, by number.
  StatusOr<std::vector<StoredJob>> Load();
  Status Create(const StoredJob& job);
  // Replaces the job's row and adds events, in one transaction.
  Status Update(const v1::Job& job, const std::vector<v1::JobEvent>& events);
  // Errors: kAborted unless `commit.attempt` is the newest recorded attempt of the job: the fence.
  Status RecordCommit(const CommitRecord& commit, int64_t wall_ms);
  StatusOr<std::vector<CommitRecord>> Commits(const std::string& job);

 private:
  explicit JobStore(sqlite3* db) : db_(db) {}
  Status Prepare();
  Status AddEvents(const std::string& job, const std::vector<v1::JobEvent>& events);

  sqlite3* db_;
};

}  // namespace trireme

#endif  // TRIREME_COORDINATOR_JOBS_STORE_H_
