// Ranks of a worker are numbered locally in rank order, here and in the agent, so the two need not
// tell each other.
#include "coordinator/jobs/attempt.h"

#include <algorithm>
#include <utility>

#include "common/base/check.h"

namespace trireme {

Attempt::Attempt(std::string job, int64_t number, AttemptPlan plan)
    : job_(std::move(job)), number_(number), plan_(std::move(plan)) {
  for (int32_t rank = 0; rank < num_ranks(); ++rank) {
    const std::string& worker = plan_.ranks[rank].worker;
    if (!ranks_of_.contains(worker)) workers_.push_back(worker);
    ranks_of_[worker].push_back(rank);
  }
}

bool Attempt::Owns(const std::string& worker, int32_t rank) const {
  return rank >= 0 && rank < num_ranks() && plan_.ranks[rank].worker == worker;
}

std::optional<CommitRecord> Attempt::AddCheckpoint(int32_t rank,
                                                   const v1::CheckpointWritten& written,
                                                   std::string& problem) {
  Pieces& pieces = checkpoints_[written.step()];
  if (pieces.ranks.empty()) pieces.folder = written.folder();
  if (pieces.folder != written.folder()) {
    problem = "ranks wrote step " + std::to_string(written.step()) + " to different folders, " +
              pieces.folder + " and " + written.folder() + " (rank " + std::to_string(rank) +
              "); checkpoint.path must be the same shared folder on all workers";
    return std::nullopt;
  }
  const bool is_new = pieces.ranks.insert(rank).second;
  if (!is_new || static_cast<int32_t>(pieces.ranks.size()) < num_ranks()) return std::nullopt;
  // Older incomplete ones can no longer be wanted; the complete one stays, to know repeated
  // reports.
  checkpoints_.erase(checkpoints_.begin(), checkpoints_.find(written.step()));
  const CommitRecord commit{job_, number_, written.step(), pieces.folder, num_ranks()};
  pending_commits_[written.step()] = commit;
  return commit;
}

bool Attempt::WorkerDone(const std::string& worker) const {
  const auto found = ranks_of_.find(worker);
  if (found == ranks_of_.end()) return true;
  return std::all_of(found->second.begin(), found->second.end(),
                     [&](int32_t rank) { return done_.contains(rank); });
}

std::string Attempt::Missing(const std::set<int32_t>& there) const {
  std::string text;
  int named = 0, more = 0;
  for (int32_t rank = 0; rank < num_ranks(); ++rank) {
    if (there.contains(rank)) continue;
    if (named == 8) {
      ++more;
      continue;
    }
    text += (named++ == 0 ? "rank " : ", rank ") + std::to_string(rank) + " on " + WorkerOf(rank);
  }
  return more == 0 ? text : text + " and " + std::to_string(more) + " more";
}

std::string Attempt::NotListening() const {
  std::set<int32_t> there;
  for (const auto& [rank, address] : addresses_) there.insert(rank);
  return Missing(there);
}

std::string Attempt::NotReady() const {
  std::set<int32_t> there;
  for (const auto& [rank, step] : first_steps_) there.insert(rank);
  return Missing(there);
}

std::string Attempt::FirstStepsDisagree() const {
  for (const auto& [rank, step] : first_steps_) {
    const auto& [first_rank, first] = *first_steps_.begin();
    if (step == first) continue;
    return "rank " + std::to_string(first_rank) + " starts at step " + std::to_string(first) +
           " but rank " + std::to_string(rank) + " on worker " + WorkerOf(rank) + " at step " +
           std::to_string(step) + "; all workers must see the same checkpoint folder";
  }
  return "";
}

WorkerMessage Attempt::AssignMessage(const std::string& worker) const {
  WorkerMessage result{worker, {}};
  v1::Assign& assign = *result.message.mutable_assign();
  assign.set_job(job_);
  assign.set_attempt(number_);
  assign.set_token(plan_.token);
  assign.set_num_ranks(num_ranks());
  for (const int32_t rank : ranks_of_.at(worker)) {
    v1::RankAssignment& to = *assign.add_ranks();
    to.set_rank(rank);
    to.set_device(plan_.ranks[rank].device);
    to.set_program_sha256(plan_.ranks[rank].program_sha256);
  }
  *assign.mutable_data() = plan_.data;
  *assign.mutable_checkpoint() = plan_.checkpoint;
  assign.set_load_newest(plan_.load_newest);
  *assign.mutable_network() = plan_.network;
  *assign.mutable_trace() = plan_.trace;
  return result;
}

WorkerMessage Attempt::RendezvousMessage(const std::string& worker) const {
  CHECK(AllListening()) << job_ << ": " << NotListening();
  WorkerMessage result{worker, {}};
  v1::Rendezvous& rendezvous = *result.message.mutable_rendezvous();
  rendezvous.set_job(job_);
  rendezvous.set_attempt(number_);
  std::map<std::string, int32_t> next_local;
  for (int32_t rank = 0; rank < num_ranks(); ++rank) {
    v1::ConnectPeers::Peer& peer = *rendezvous.add_peers();
    peer.set_rank(rank);
    peer.set_address(addresses_.at(rank));
    peer.set_worker(WorkerOf(rank));
    peer.set_local_index(next_local[WorkerOf(rank)]++);
    peer.set_slice(plan_.ranks[rank].slice);
  }
  return result;
}

WorkerMessage Attempt::StopMessage(const std::string& worker, bool kill,
                                   const std::string& reason) const {
  WorkerMessage result{worker, {}};
  v1::Stop& stop = *result.message.mutable_stop();
  stop.set_job(job_);
  stop.set_attempt(number_);
  stop.set_kill(kill);
  stop.set_reason(reason);
  return result;
}

WorkerMessage Attempt::CommitMessage(const CommitRecord& commit) const {
  WorkerMessage result{WorkerOf(0), {}};
  v1::CommitCheckpoint& message = *result.message.mutable_commit();
  message.set_job(commit.job);
  message.set_attempt(commit.attempt);
  message.set_step(commit.step);
  message.set_folder(commit.folder);
  message.set_num_ranks(commit.num_ranks);
  return result;
}

std::vector<WorkerMessage> Attempt::PendingCommitMessages() const {
  std::vector<WorkerMessage> messages;
  for (const auto& [step, commit] : pending_commits_) messages.push_back(CommitMessage(commit));
  return messages;
}

}  // namespace trireme
