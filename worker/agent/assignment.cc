// A rank's life: FETCHING -> STARTED -> LISTENING -> READY -> ENDED, with STOPPING once it is told
// to stop. A process that ends without a last word gets one from here, with how it ended and its
// last lines on standard error.
#include "worker/agent/assignment.h"

#include <signal.h>

#include <set>
#include <utility>

namespace trireme {
namespace {

using v1::RankBeat;

constexpr size_t kLastLines = 5;

std::string Joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += (text.empty() ? "" : " | ") + line;
  return text;
}

}  // namespace

Assignment::Assignment(const v1::Assign& assign, const AssignmentOptions& options)
    : assign_(assign), options_(options) {
  std::map<int32_t, std::string> programs;
  for (const v1::RankAssignment& rank : assign.ranks())
    programs[rank.rank()] = rank.program_sha256();
  for (const auto& [rank, sha256] : programs) {  // local indices follow the order of ranks
    const auto local_index = static_cast<int32_t>(ranks_.size());
    Rank& state = ranks_[rank];
    state.local_index = local_index;
    state.program_sha256 = sha256;
  }
}

std::string Assignment::FlightRecorderPath(int32_t rank) const {
  if (options_.flight_folder.empty()) return "";
  std::string job = assign_.job();
  for (char& c : job) c = c == '/' ? '_' : c;
  return options_.flight_folder + "/" + job + "." + std::to_string(assign_.attempt()) + ".rank-" +
         std::to_string(rank) + ".flight";
}

AgentActions Assignment::Begin() {
  std::set<std::string> programs;
  for (const auto& [number, rank] : ranks_) programs.insert(rank.program_sha256);
  AgentActions actions;
  for (const std::string& sha256 : programs) actions.push_back(FetchProgram{sha256});
  return actions;
}

v1::StartRank Assignment::MakeStart(int32_t rank, const Rank& state,
                                    const std::string& bytes) const {
  v1::StartRank start;
  start.set_job(assign_.job());
  start.set_attempt(assign_.attempt());
  start.set_rank(rank);
  start.set_num_ranks(assign_.num_ranks());
  start.mutable_program()->ParseFromString(bytes);
  start.set_token(assign_.token());
  start.set_listen_address(options_.listen_address);
  start.set_local_index(state.local_index);
  start.set_num_local(num_local());
  start.set_flight_recorder(FlightRecorderPath(rank));
  *start.mutable_data() = assign_.data();
  if (start.data().cache_folder().empty()) {
    start.mutable_data()->set_cache_folder(options_.cache_folder);
  }
  *start.mutable_checkpoint() = assign_.checkpoint();
  start.set_call_timeout_s(assign_.call_timeout_s());
  *start.mutable_network() = assign_.network();
  *start.mutable_trace() = assign_.trace();
  start.set_num_threads(options_.num_threads);
  return start;
}

AgentActions Assignment::ProgramFetched(const std::string& sha256, const std::string& bytes,
                                        int64_t now_ms) {
  AgentActions actions;
  if (stopping_ || failed_) return actions;
  v1::RankProgram program;
  if (!program.ParseFromString(bytes)) {
    return ProgramFailed(sha256, InvalidArgument("it is no RankProgram"), now_ms);
  }
  for (auto& [number, rank] : ranks_) {
    if (rank.program_sha256 != sha256 || rank.state != RankBeat::FETCHING) continue;
    rank.state = RankBeat::STARTED;
    actions.push_back(StartRankProcess{number, MakeStart(number, rank, bytes)});
  }
  return actions;
}

AgentActions Assignment::ProgramFailed(const std::string& sha256, const Status& status,
                                       int64_t now_ms) {
  AgentActions actions;
  if (stopping_ || failed_) return actions;
  for (auto& [number, rank] : ranks_) {
    if (rank.program_sha256 != sha256 || rank.state != RankBeat::FETCHING) continue;
    SayFailed(number, absl::StatusCode::kInternal,
              "its program " + sha256.substr(0, 12) +
                  " could not be fetched: " + std::string(ToStd(status.message())),
              actions);
    rank.state = RankBeat::ENDED;
    EndOthers(number, "the program of rank " + std::to_string(number) + " could not be fetched",
              now_ms, actions);
    break;
  }
  SayEndedIfSo(actions);
  return actions;
}

v1::WorkerUp Assignment::Update(int32_t rank, const v1::RankEvent& event) const {
  v1::WorkerUp up;
  v1::RankUpdate& update = *up.mutable_rank();
  update.set_job(assign_.job());
  update.set_attempt(assign_.attempt());
  update.set_rank(rank);
  switch (event.event_case()) {
    case v1::RankEvent::kListening:
      *update.mutable_listening() = event.listening();
      break;
    case v1::RankEvent::kReady:
      *update.mutable_ready() = event.ready();
      break;
    case v1::RankEvent::kStep:
      *update.mutable_step() = event.step();
      break;
    case v1::RankEvent::kCheckpoint:
      *update.mutable_checkpoint() = event.checkpoint();
      break;
    case v1::RankEvent::kFailed:
      *update.mutable_failed() = event.failed();
      break;
    case v1::RankEvent::kDone:
      *update.mutable_done() = event.done();
      break;
    case v1::RankEvent::kLog:
      *update.mutable_log() = event.log();
      break;
    case v1::RankEvent::EVENT_NOT_SET:
      break;
  }
  return up;
}

AgentActions Assignment::RankSaid(int32_t number, const v1::RankEvent& event, int64_t now_ms) {
  AgentActions actions;
  const auto found = ranks_.find(number);
  if (found == ranks_.end() || event.event_case() == v1::RankEvent::EVENT_NOT_SET) return actions;
  Rank& rank = found->second;
  const v1::WorkerUp up = Update(number, event);
  if (!event.has_step() && !event.has_log()) rank.sticky[event.event_case()] = up.rank();
  if (event.has_step()) rank.step = event.step().step();
  const bool going = rank.state == RankBeat::STARTED || rank.state == RankBeat::LISTENING;
  if (going && event.has_listening()) rank.state = RankBeat::LISTENING;
  if (going && event.has_ready()) rank.state = RankBeat::READY;
  actions.push_back(TellCoordinator{up});
  if (event.has_failed() || event.has_done()) {
    rank.said_last_word = true;
    rank.kill_at_ms = now_ms + options_.kill_ms;
  }
  if (event.has_failed()) {
    EndOthers(number, "rank " + std::to_string(number) + " failed: " + event.failed().message(),
              now_ms, actions);
  }
  return actions;
}

AgentActions Assignment::RankWrote(int32_t number, const std::string& line) {
  const auto found = ranks_.find(number);
  if (found == ranks_.end()) return {};
  std::vector<std::string>& last = found->second.last_lines;
  last.push_back(line);
  if (last.size() > kLastLines) last.erase(last.begin());
  v1::RankEvent event;
  event.mutable_log()->set_line(line);
  return {TellCoordinator{Update(number, event)}};
}

void Assignment::SayFailed(int32_t number, absl::StatusCode code, const std::string& message,
                           AgentActions& actions) {
  v1::RankEvent event;
  event.mutable_failed()->set_code(static_cast<int32_t>(code));
  event.mutable_failed()->set_message(message);
  Rank& rank = ranks_.at(number);
  const v1::WorkerUp up = Update(number, event);
  rank.sticky[v1::RankEvent::kFailed] = up.rank();
  rank.said_last_word = true;
  actions.push_back(TellCoordinator{up});
}

void Assignment::EndOthers(int32_t number, const std::string& reason, int64_t now_ms,
                           AgentActions& actions) {
  if (failed_) return;
  failed_ = true;
  actions.push_back(AbortLocalRanks{number, reason});
  EndUnstarted();
  for (auto& [other, rank] : ranks_) {
    if (other == number || rank.state == RankBeat::ENDED || rank.kill_at_ms >= 0) continue;
    rank.kill_at_ms = now_ms + options_.kill_ms;
  }
}

void Assignment::EndUnstarted() {
  for (auto& [number, rank] : ranks_) {
    if (rank.state == RankBeat::FETCHING) rank.state = RankBeat::ENDED;
  }
}

AgentActions Assignment::RankExited(int32_t number, const std::string& how, int64_t now_ms) {
  AgentActions actions;
  const auto found = ranks_.find(number);
  if (found == ranks_.end() || found->second.state == RankBeat::ENDED) return actions;
  Rank& rank = found->second;
  rank.state = RankBeat::ENDED;
  if (!rank.said_last_word && !stopping_) {
    // One that we ended because of another's failure is not a cause; one that died by itself may
    // be, even if those who suffer from it were heard first.
    const absl::StatusCode code =
        rank.signalled ? absl::StatusCode::kAborted : absl::StatusCode::kInternal;
    std::string message = "its process " + how;
    if (!rank.last_lines.empty()) message += "; last lines: " + Joined(rank.last_lines);
    SayFailed(number, code, message, actions);
    EndOthers(number, "rank " + std::to_string(number) + ": its process " + how, now_ms, actions);
  }
  SayEndedIfSo(actions);
  return actions;
}

AgentActions Assignment::Rendezvous(const v1::Rendezvous& rendezvous) {
  AgentActions actions;
  if (rendezvous_.has_value() || stopping_ || failed_) return actions;
  rendezvous_ = rendezvous;
  v1::RankCommand command;
  *command.mutable_connect()->mutable_peers() = rendezvous.peers();
  for (const auto& [number, rank] : ranks_) {
    if (rank.state != RankBeat::ENDED) actions.push_back(TellRank{number, command});
  }
  return actions;
}

AgentActions Assignment::Stop(bool kill, int64_t now_ms) {
  AgentActions actions;
  EndUnstarted();
  v1::RankCommand command;
  command.mutable_stop();
  for (auto& [number, rank] : ranks_) {
    if (rank.state == RankBeat::ENDED) continue;
    if (!stopping_ && !kill) actions.push_back(TellRank{number, command});
    if (kill) {
      actions.push_back(SignalRank{number, SIGTERM});
      rank.term_at_ms = -1;
      rank.kill_at_ms = now_ms + options_.kill_ms;
    } else if (rank.term_at_ms < 0 && rank.kill_at_ms < 0) {
      rank.term_at_ms = now_ms + options_.term_ms;
    }
    rank.state = RankBeat::STOPPING;
  }
  stopping_ = true;
  SayEndedIfSo(actions);
  return actions;
}

AgentActions Assignment::Tick(int64_t now_ms) {
  AgentActions actions;
  for (auto& [number, rank] : ranks_) {
    if (rank.state == RankBeat::ENDED) continue;
    if (rank.term_at_ms >= 0 && now_ms >= rank.term_at_ms) {
      rank.term_at_ms = -1;
      rank.kill_at_ms = now_ms + options_.kill_ms;
      rank.signalled = true;
      actions.push_back(SignalRank{number, SIGTERM});
    } else if (rank.kill_at_ms >= 0 && now_ms >= rank.kill_at_ms) {
      rank.kill_at_ms = now_ms + options_.kill_ms;
      rank.signalled = true;
      actions.push_back(SignalRank{number, SIGKILL});
    }
  }
  return actions;
}

v1::WorkerUp Assignment::EndedMessage() const {
  v1::WorkerUp up;
  up.mutable_ended()->set_job(assign_.job());
  up.mutable_ended()->set_attempt(assign_.attempt());
  return up;
}

void Assignment::SayEndedIfSo(AgentActions& actions) {
  if (said_ended_ || !ended()) return;
  said_ended_ = true;
  actions.push_back(TellCoordinator{EndedMessage()});
}

AgentActions Assignment::Repeat() const {
  AgentActions actions;
  for (const auto& [number, rank] : ranks_) {
    for (const auto& [kind, update] : rank.sticky) {
      v1::WorkerUp up;
      *up.mutable_rank() = update;
      actions.push_back(TellCoordinator{up});
    }
  }
  if (said_ended_) actions.push_back(TellCoordinator{EndedMessage()});
  return actions;
}

std::vector<RankBeat> Assignment::Beats() const {
  std::vector<RankBeat> beats;
  for (const auto& [number, rank] : ranks_) {
    RankBeat& beat = beats.emplace_back();
    beat.set_job(assign_.job());
    beat.set_attempt(assign_.attempt());
    beat.set_rank(number);
    beat.set_state(rank.state);
    beat.set_step(rank.step);
  }
  return beats;
}

bool Assignment::ended() const {
  for (const auto& [number, rank] : ranks_) {
    if (rank.state != RankBeat::ENDED) return false;
  }
  return true;
}

}  // namespace trireme
