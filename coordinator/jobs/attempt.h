// One attempt of a job: which rank sits where, what each has reported, and the messages that tell
// its workers what should be. Bookkeeping only; what a report means for the job is decided by
// JobMachine.
#ifndef TRIREME_COORDINATOR_JOBS_ATTEMPT_H_
#define TRIREME_COORDINATOR_JOBS_ATTEMPT_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "trireme/v1/workers.pb.h"

namespace trireme {

// A message and the worker it is for.
struct WorkerMessage {
  std::string worker;
  v1::WorkerDown message;
};

// What planning and placing decided.
struct AttemptPlan {
  struct Rank {
    std::string worker;
    int32_t device = 0;
    std::string program_sha256;
    int64_t arena_bytes = 0;  // what the plan says the rank allocates
    int64_t slice = 0;        // of its worker, among those of the attempt
  };
  std::string token;
  std::vector<Rank> ranks;  // by rank
  v1::DataConfig data;
  v1::CheckpointConfig checkpoint;
  bool load_newest = false;
  v1::NetworkConfig network;
  v1::TraceConfig trace;
  std::string summary;  // for Job.plan_summary
};

// A checkpoint of which all ranks wrote their part.
struct CommitRecord {
  std::string job;
  int64_t attempt = 0;
  int64_t step = 0;
  std::string folder;
  int32_t num_ranks = 0;
};

class Attempt {
 public:
  Attempt() = default;
  Attempt(std::string job, int64_t number, AttemptPlan plan);

  int64_t number() const { return number_; }
  int32_t num_ranks() const { return static_cast<int32_t>(plan_.ranks.size()); }
  // In rank order, each once.
  const std::vector<std::string>& workers() const { return workers_; }
  bool Uses(const std::string& worker) const { return ranks_of_.contains(worker); }
  // False also for ranks that do not exist.
  bool Owns(const std::string& worker, int32_t rank) const;
  const std::string& WorkerOf(int32_t rank) const { return plan_.ranks[rank].worker; }

  // Reports. Repeated ones change nothing.
  void SetListening(int32_t rank, const std::string& address) { addresses_[rank] = address; }
  void SetReady(int32_t rank, int64_t first_step) { first_steps_[rank] = first_step; }
  int64_t PlannedBytes(int32_t rank) const { return plan_.ranks[rank].arena_bytes; }
  void SetDone(int32_t rank, int64_t step) { done_[rank] = step; }
  void SetLeft(const std::string& worker) { left_.insert(worker); }
  // Returns the commit when this was the last rank. An already answered step gives nothing.
  // `problem` is filled if ranks name different folders.
  std::optional<CommitRecord> AddCheckpoint(int32_t rank, const v1::CheckpointWritten& written,
                                            std::string& problem);
  void CommitAnswered(int64_t step) { pending_commits_.erase(step); }

  bool AllListening() const { return static_cast<int32_t>(addresses_.size()) == num_ranks(); }
  bool AllReady() const { return static_cast<int32_t>(first_steps_.size()) == num_ranks(); }
  bool AllDone() const { return static_cast<int32_t>(done_.size()) == num_ranks(); }
  bool AllLeft() const { return left_.size() == workers_.size(); }
  bool HasPendingCommits() const { return !pending_commits_.empty(); }
  bool HasLeft(const std::string& worker) const { return left_.contains(worker); }
  bool WorkerDone(const std::string& worker) const;
  // Ranks that are not listening (ready) yet: "rank 1 on b, rank 3 on c", at most 8 named.
  std::string NotListening() const;
  std::string NotReady() const;
  // Where training starts if all ready ranks agree, otherwise a text that names two that do not.
  std::string FirstStepsDisagree() const;
  int64_t first_step() const { return first_steps_.empty() ? 0 : first_steps_.begin()->second; }

  WorkerMessage AssignMessage(const std::string& worker) const;
  WorkerMessage RendezvousMessage(const std::string& worker) const;
  WorkerMessage StopMessage(const std::string& worker, bool kill, const std::string& reason) const;
  WorkerMessage CommitMessage(const CommitRecord& commit) const;
  // Of all commits that were not answered.
  std::vector<WorkerMessage> PendingCommitMessages() const;

 private:
  std::string Missing(const std::set<int32_t>& there) const;

  std::string job_;
  int64_t number_ = 0;
  AttemptPlan plan_;
  std::vector<std::string> workers_;
  std::map<std::string, std::vector<int32_t>> ranks_of_;
  std::map<int32_t, std::string> addresses_;
  std::map<int32_t, int64_t> first_steps_;
  std::map<int32_t, int64_t> done_;
  std::set<std::string> left_;
  struct Pieces {
    std::string folder;
    std::set<int32_t> ranks;
  };
  std::map<int64_t, Pieces> checkpoints_;
  std::map<int64_t, CommitRecord> pending_commits_;
};

}  // namespace trireme

#endif  // TRIREME_COORDINATOR_JOBS_ATTEMPT_H_
