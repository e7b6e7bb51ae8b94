// One attempt of one job on this worker, as a pure state machine: fetch programs, start ranks,
// connect them, pass on what they say, stop them, and say so once none is left. Inputs go in with
// the time, actions come out.
#ifndef TRIREME_WORKER_AGENT_ASSIGNMENT_H_
#define TRIREME_WORKER_AGENT_ASSIGNMENT_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "common/base/status.h"
#include "trireme/v1/workers.pb.h"

namespace trireme {

// ---- what is to be done

struct FetchProgram {
  std::string sha256;
};
struct StartRankProcess {
  int32_t rank = 0;
  v1::StartRank start;  // without shared_segment, which whoever makes the segment fills in
};
struct TellRank {
  int32_t rank = 0;
  v1::RankCommand command;
};
struct SignalRank {
  int32_t rank = 0;
  int signal = 0;
};
// End the communicator calls of the local ranks: this rank is gone.
struct AbortLocalRanks {
  int32_t rank = 0;
  std::string reason;
};
struct TellCoordinator {
  v1::WorkerUp message;
};
using AgentAction = std::variant<FetchProgram, StartRankProcess, TellRank, SignalRank,
                                 AbortLocalRanks, TellCoordinator>;
using AgentActions = std::vector<AgentAction>;

struct AssignmentOptions {
  std::string listen_address = "127.0.0.1";
  std::string flight_folder;  // of flight recorder files; "" = none
  std::string cache_folder;   // of token files; "" = beside the text
  int32_t num_threads = 1;    // kernel threads of a rank
  int64_t term_ms = 20000;    // after Stop: then SIGTERM
  int64_t kill_ms =
      5000;  // after SIGTERM, or after a rank's last word or a neighbour's death: then SIGKILL
};

class Assignment {
 public:
  // `assign.checkpoint().load()` is resolved: the folder to load, or "".
  Assignment(const v1::Assign& assign, const AssignmentOptions& options);

  AgentActions Begin();
  AgentActions ProgramFetched(const std::string& sha256, const std::string& bytes, int64_t now_ms);
  AgentActions ProgramFailed(const std::string& sha256, const Status& status, int64_t now_ms);
  AgentActions RankSaid(int32_t rank, const v1::RankEvent& event, int64_t now_ms);
  AgentActions RankWrote(int32_t rank, const std::string& line);  // to standard error
  // `how` says how the process ended, or why it could not start.
  AgentActions RankExited(int32_t rank, const std::string& how, int64_t now_ms);
  AgentActions Rendezvous(const v1::Rendezvous& rendezvous);
  AgentActions Stop(bool kill, int64_t now_ms);
  AgentActions Tick(int64_t now_ms);

  // Says the sticky facts again, after a reconnect.
  AgentActions Repeat() const;
  // For a beat; the caller adds what the flight recorders say.
  std::vector<v1::RankBeat> Beats() const;
  std::string FlightRecorderPath(int32_t rank) const;

  // No process is left.
  bool ended() const;
  const std::string& job() const { return assign_.job(); }
  int64_t attempt() const { return assign_.attempt(); }
  int32_t num_local() const { return assign_.ranks_size(); }

 private:
  struct Rank {
    int32_t local_index = 0;
    std::string program_sha256;
    v1::RankBeat::State state = v1::RankBeat::FETCHING;
    int64_t step = 0;
    std::map<int, v1::RankUpdate> sticky;  // by kind of update, in order of life
    std::vector<std::string> last_lines;
    bool signalled = false;       // by us: its end is no cause
    bool said_last_word = false;  // failed or done
    int64_t term_at_ms = -1;
    int64_t kill_at_ms = -1;
  };

  v1::StartRank MakeStart(int32_t rank, const Rank& state, const std::string& bytes) const;
  v1::WorkerUp Update(int32_t rank, const v1::RankEvent& event) const;
  void SayFailed(int32_t rank, absl::StatusCode code, const std::string& message,
                 AgentActions& actions);
  // The others cannot go on without `rank`: they get a while to say so, then they are killed.
  void EndOthers(int32_t rank, const std::string& reason, int64_t now_ms, AgentActions& actions);
  void EndUnstarted();
  void SayEndedIfSo(AgentActions& actions);
  v1::WorkerUp EndedMessage() const;

  v1::Assign assign_;
  AssignmentOptions options_;
  std::map<int32_t, Rank> ranks_;
  std::optional<v1::Rendezvous> rendezvous_;
  bool stopping_ = false;
  bool failed_ = false;  // a rank has failed: others end because of it
  bool said_ended_ = false;
};

}  // namespace trireme

#endif  // TRIREME_WORKER_AGENT_ASSIGNMENT_H_
