// Jobs and events are stored as serialized messages beside the columns that are asked for; names
// and states are readable columns, for people with the sqlite3 shell.
#include "coordinator/jobs/store.h"

#include <sqlite3.h>

#include "coordinator/jobs/sqlite.h"

namespace trireme {
namespace {

constexpr int kSchemaVersion = 1;

constexpr char kSchema[] = R"(
CREATE TABLE jobs(
  number INTEGER PRIMARY KEY, name BLOB UNIQUE NOT NULL, state BLOB NOT NULL, attempt INTEGER NOT NULL,
  request_id BLOB NOT NULL, request_hash INTEGER NOT NULL, job BLOB NOT NULL);
CREATE TABLE events(
  job BLOB NOT NULL, revision INTEGER NOT NULL, event BLOB NOT NULL,
  PRIMARY KEY(job, revision)) WITHOUT ROWID;
CREATE TABLE commits(
  job BLOB NOT NULL, step INTEGER NOT NULL, attempt INTEGER NOT NULL, folder BLOB NOT NULL,
  num_ranks INTEGER NOT NULL, recorded_ms INTEGER NOT NULL,
  PRIMARY KEY(job, step, attempt)) WITHOUT ROWID;
)";

StatusOr<int64_t> SchemaVersion(sqlite3* db) {
  Query query(db, "PRAGMA user_version");
  ASSIGN_OR_RETURN(const bool row, query.Step());
  return row ? query.Int(0) : 0;
}

}  // namespace

StatusOr<std::unique_ptr<JobStore>> JobStore::Open(const std::string& path) {
  sqlite3* db = nullptr;
  const int result = sqlite3_open(path.c_str(), &db);
  std::unique_ptr<JobStore> store(new JobStore(db));
  if (result != SQLITE_OK) return SqliteError(db, "cannot open store " + path);
  const Status status = store->Prepare();
  if (!status.ok()) return Annotate(status, "store " + path);
  return store;
}

JobStore::~JobStore() { sqlite3_close(db_); }

Status JobStore::Prepare() {
  RETURN_IF_ERROR(Execute(db_, "PRAGMA locking_mode=EXCLUSIVE"));
  RETURN_IF_ERROR(Execute(db_, "PRAGMA journal_mode=WAL"));
  RETURN_IF_ERROR(Execute(db_, "PRAGMA synchronous=FULL"));
  Transaction transaction(db_);
  RETURN_IF_ERROR(transaction.status());
  ASSIGN_OR_RETURN(const int64_t version, SchemaVersion(db_));
  if (version > kSchemaVersion) {
    return FailedPrecondition("was written by a newer coordinator (schema " +
                              std::to_string(version) + ", this one knows " +
                              std::to_string(kSchemaVersion) + "); run the newer one");
  }
  if (version == 0) {
    RETURN_IF_ERROR(Execute(db_, kSchema));
    RETURN_IF_ERROR(Execute(db_, "PRAGMA user_version=" + std::to_string(kSchemaVersion)));
  }
  return transaction.Commit();
}

StatusOr<std::vector<StoredJob>> JobStore::Load() {
  std::vector<StoredJob> jobs;
  Query query(db_, "SELECT number, request_id, request_hash, job FROM jobs ORDER BY number");
  while (true) {
    ASSIGN_OR_RETURN(const bool row, query.Step());
    if (!row) break;
    StoredJob job;
    job.number = query.Int(0);
    job.request = {query.Text(1), static_cast<uint64_t>(query.Int(2))};
    if (!job.job.ParseFromString(query.Text(3))) {
      return Internal("job number " + std::to_string(job.number) + " in the store is damaged");
    }
    jobs.push_back(std::move(job));
  }
  for (StoredJob& job : jobs) {
    Query events(db_, "SELECT event FROM events WHERE job = ? ORDER BY revision");
    events.Bind(job.job.name());
    while (true) {
      ASSIGN_OR_RETURN(const bool row, events.Step());
      if (!row) break;
      if (!job.events.emplace_back().ParseFromString(events.Text(0))) {
        return Internal("an event of " + job.job.name() + " in the store is damaged");
      }
    }
  }
  return jobs;
}

Status JobStore::AddEvents(const std::string& job, const std::vector<v1::JobEvent>& events) {
  for (const v1::JobEvent& event : events) {
    Query query(db_, "INSERT OR REPLACE INTO events(job, revision, event) VALUES(?, ?, ?)");
    query.Bind(job);
    query.Bind(event.revision());
    query.Bind(event.SerializeAsString());
    RETURN_IF_ERROR(query.Run());
  }
  return absl::OkStatus();
}

Status JobStore::Create(const StoredJob& job) {
  Transaction transaction(db_);
  RETURN_IF_ERROR(transaction.status());
  {
    Query query(db_,
                "INSERT INTO jobs(number, name, state, attempt, request_id, request_hash, job) "
                "VALUES(?, ?, ?, ?, ?, ?, ?)");
    query.Bind(job.number);
    query.Bind(job.job.name());
    query.Bind(v1::Job::State_Name(job.job.state()));
    query.Bind(job.job.attempt());
    query.Bind(job.request.id);
    query.Bind(static_cast<int64_t>(job.request.text_hash));
    query.Bind(job.job.SerializeAsString());
    RETURN_IF_ERROR(query.Run());
  }
  RETURN_IF_ERROR(AddEvents(job.job.name(), job.events));
  return transaction.Commit();
}

Status JobStore::Update(const v1::Job& job, const std::vector<v1::JobEvent>& events) {
  Transaction transaction(db_);
  RETURN_IF_ERROR(transaction.status());
  {
    Query query(db_, "UPDATE jobs SET state = ?, attempt = ?, job = ? WHERE name = ?");
    query.Bind(v1::Job::State_Name(job.state()));
    query.Bind(job.attempt());
    query.Bind(job.SerializeAsString());
    query.Bind(job.name());
    RETURN_IF_ERROR(query.Run());
  }
  RETURN_IF_ERROR(AddEvents(job.name(), events));
  return transaction.Commit();
}

Status JobStore::RecordCommit(const CommitRecord& commit, int64_t wall_ms) {
  Transaction transaction(db_);
  RETURN_IF_ERROR(transaction.status());
  {
    Query newest(db_, "SELECT attempt FROM jobs WHERE name = ?");
    newest.Bind(commit.job);
    ASSIGN_OR_RETURN(const bool row, newest.Step());
    if (!row || newest.Int(0) != commit.attempt) {
      return Aborted("attempt " + std::to_string(commit.attempt) + " of " + commit.job +
                     " is not its newest: its checkpoint is refused");
    }
    Query query(
        db_,
        "INSERT OR REPLACE INTO commits(job, step, attempt, folder, num_ranks, recorded_ms) "
        "VALUES(?, ?, ?, ?, ?, ?)");
    query.Bind(commit.job);
    query.Bind(commit.step);
    query.Bind(commit.attempt);
    query.Bind(commit.folder);
    query.Bind(int64_t{commit.num_ranks});
    query.Bind(wall_ms);
    RETURN_IF_ERROR(query.Run());
  }
  return transaction.Commit();
}

StatusOr<std::vector<CommitRecord>> JobStore::Commits(const std::string& job) {
  std::vector<CommitRecord> commits;
  Query query(db_,
              "SELECT attempt, step, folder, num_ranks FROM commits WHERE job = ? "
              "ORDER BY step, attempt");
  query.Bind(job);
  while (true) {
    ASSIGN_OR_RETURN(const bool row, query.Step());
    if (!row) return commits;
    commits.push_back(
        {job, query.Int(0), query.Int(1), query.Text(2), static_cast<int32_t>(query.Int(3))});
  }
}

}  // namespace trireme
