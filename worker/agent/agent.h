// The worker daemon: keeps the stream to the coordinator, runs the ranks it is assigned, and passes
// on what they say. One thread decides everything; streams, rank processes and file work run on
// others and leave events in its inbox.
#ifndef TRIREME_WORKER_AGENT_AGENT_H_
#define TRIREME_WORKER_AGENT_AGENT_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "common/base/status.h"
#include "trireme/v1/workers.pb.h"
#include "worker/agent/assignment.h"
#include "worker/agent/connection.h"
#include "worker/agent/inbox.h"
#include "worker/agent/program_cache.h"
#include "worker/agent/rank_process.h"
#include "worker/agent/stuck_watch.h"
#include "worker/comm/shared_segment.h"

namespace trireme {

struct AgentOptions {
  std::string coordinator;  // "host:port"
  std::string name;         // of the worker
  std::string host;
  std::string slice = "0";
  std::string device_kind = "cpu";
  int32_t num_devices = 1;
  std::string version;
  uint64_t op_table_hash = 0;
  int64_t incarnation = 0;                // start time in ns
  std::string work_folder;                // programs, flight recorders
  AssignmentOptions assignment;           // its folders are set from work_folder where empty
  std::vector<std::string> rank_command;  // see RankProcess::Start
  int64_t orphan_ms = 600000;             // without coordinator for so long: stop all ranks
  // Writes the manifest of a checkpoint whose pieces are all there.
  std::function<Status(const v1::CommitCheckpoint&)> commit_checkpoint;
};

class Agent {
 public:
  explicit Agent(const AgentOptions& options);

  // Works until Stop; then ends all ranks and returns. Call it on the program's main thread: ranks
  // die with the thread that started them. Errors: kFailedPrecondition when the coordinator refuses
  // this worker at its first try.
  Status Run();
  // From any thread, or a signal handler's thread.
  void Stop();

 private:
  using Key = std::pair<std::string, int64_t>;  // job, attempt
  struct Running {
    std::unique_ptr<Assignment> assignment;
    std::unique_ptr<SharedSegment> segment;  // with more than one local rank
    std::map<int32_t, std::unique_ptr<RankProcess>> processes;
  };

  v1::Register Registration();  // from any thread
  void Heard(const v1::WorkerDown& message);
  void OnRegistered(const v1::Registered& registered);
  void OnAssign(const v1::Assign& assign);
  void OnStop(const v1::Stop& stop);
  void OnCommit(const v1::CommitCheckpoint& commit);
  void OnRelease(const v1::ReleaseAssignment& release);
  void OnClosed(const Status& status);
  void Tick();
  void SendBeat();

  // Runs `then` on the running assignment, if it is still there, and carries out what it wants.
  void With(const Key& key, const std::function<AgentActions(Assignment&)>& then);
  void Carry(const Key& key, AgentActions actions);
  void Carry(const Key& key, FetchProgram& action);
  void Carry(const Key& key, StartRankProcess& action);
  void Carry(const Key& key, TellRank& action);
  void Carry(const Key& key, SignalRank& action);
  void Carry(const Key& key, AbortLocalRanks& action);
  void Carry(const Key& key, TellCoordinator& action);
  void Publish();

  AgentOptions options_;
  Inbox inbox_;
  std::map<Key, Running> running_;
  StuckWatch stuck_;
  ProgramCache cache_;
  std::vector<v1::WorkerUp> unsent_;  // metrics and logs of a time without stream, bounded
  bool connected_ = false;
  bool ever_connected_ = false;
  bool stopping_ = false;
  Status end_;
  int64_t disconnected_since_ms_ = 0;
  int64_t beat_interval_ms_ = 5000;
  int64_t next_beat_ms_ = 0;

  std::mutex running_ids_mutex_;
  std::vector<v1::AssignmentId> running_ids_
      ABSL_GUARDED_BY(running_ids_mutex_);   // for Registration
  std::unique_ptr<Connection> connection_;   // its threads use the above
  std::unique_ptr<InboxThread> background_;  // for work that may block; uses the connection
};

}  // namespace trireme

#endif  // TRIREME_WORKER_AGENT_AGENT_H_
