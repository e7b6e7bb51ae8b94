// Phases first, each once; then schedules over them; then sums a step.
#include "coordinator/planner/predict.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "common/plan/resolve.h"
#include "coordinator/planner/link_costs.h"
#include "coordinator/planner/phase_time.h"
#include "coordinator/planner/summary.h"

namespace trireme {
namespace {

// (stage, group, op, tensor, reason): what a CollectivePlan sums up.
using CollectiveKey = std::tuple<int32_t, int32_t, std::string, std::string, std::string>;

class Predictor {
 public:
  Predictor(const Topology& topology, const NetworkSpec& network, Plan* plan)
      : device_(topology.device),
        links_(plan->mesh, topology, network, plan->stage_axis),
        plan_(*plan) {}

  void Run();

 private:
  int64_t RankOf(int32_t stage) const;
  void PredictStage(const StageProgram& program, const StepSchedule& schedule);
  void AddTransfers(const StageProgram& program, const StepSchedule& schedule);
  void AddMessages(const Timeline& timeline);
  void FillCollectives();

  const DeviceKind& device_;
  LinkCosts links_;
  Plan& plan_;
  std::map<CollectiveKey, CollectiveTime> collectives_;  // of a step
};

int64_t Predictor::RankOf(int32_t stage) const {
  std::vector<int64_t> coordinates(plan_.mesh.num_axes(), 0);
  if (plan_.stage_axis >= 0) coordinates[plan_.stage_axis] = stage;
  return plan_.mesh.RankOf(coordinates);
}

void Predictor::PredictStage(const StageProgram& program, const StepSchedule& schedule) {
  std::map<std::pair<Phase, int32_t>, double> times;  // (phase, chunk) -> executions a step
  for (const ScheduleItem& item : schedule.items) {
    if (item.kind == ItemKind::kRun) ++times[{item.phase, item.chunk}];
  }
  const auto collective_s = [&](const Instruction& instruction) {
    return links_.CollectiveSeconds(program.stage, program.groups, instruction);
  };
  StagePrediction stage;
  for (const auto& [key, count] : times) {
    const auto& [phase, chunk] = key;
    const PhasePrediction one =
        PredictPhase(program, Resolve(program, phase, chunk, plan_.mesh, RankOf(program.stage)),
                     device_, collective_s);
    plan_.prediction.phases.push_back({program.stage, phase, chunk, one.total_s});
    stage.compute_s += count * one.compute_s;
    for (const auto& [source, time] : one.collectives) {
      CollectiveTime& sum =
          collectives_[{program.stage, source->group, source->op, source->tensor, source->reason}];
      sum.hidden_s += count * time.hidden_s;
      sum.exposed_s += count * time.exposed_s;
      stage.hidden_s += count * time.hidden_s;
      stage.exposed_s += count * time.exposed_s;
    }
  }
  plan_.prediction.stages.push_back(stage);
}

void Predictor::AddTransfers(const StageProgram& program, const StepSchedule& schedule) {
  std::map<std::pair<int32_t, bool>, int64_t> bytes_to;  // (stage, gradient) -> largest message
  for (const ScheduleItem& item : schedule.items) {
    for (const Transfer& send : item.sends) {
      const ChunkProgram& chunk = program.chunks[send.chunk];
      int64_t bytes = 0;
      for (const EdgePlacement& edge : send.gradient ? chunk.grad_edges_in : chunk.edges_out) {
        bytes += edge.bytes;
      }
      int64_t& most = bytes_to[{send.peer_stage, send.gradient}];
      most = std::max(most, bytes);
    }
  }
  for (const auto& [key, bytes] : bytes_to) {
    const auto& [to, gradient] = key;
    double seconds = links_.BetweenStages(program.stage, to).Seconds(bytes);
    if (to == program.stage && device_.bytes_per_s > 0) {
      seconds = 2 * static_cast<double>(bytes) / device_.bytes_per_s;  // a copy
    }
    plan_.prediction.transfers.push_back({program.stage, to, gradient, seconds});
  }
}

// Time in exchanges: until the last peer is there, and while messages travel.
void Predictor::AddMessages(const Timeline& timeline) {
  for (size_t s = 0; s < plan_.schedules.size(); ++s) {
    StagePrediction& stage = plan_.prediction.stages[s];
    double end = 0;
    for (size_t i = 0; i < plan_.schedules[s].items.size(); ++i) {
      const ItemTimes& times = timeline.items[s][i];
      end = std::max(end, times.end);
      if (plan_.schedules[s].items[i].kind != ItemKind::kExchange) continue;
      stage.waits_s += times.met - times.start;
      stage.sends_s += times.end - times.met;
    }
    stage.waits_s += timeline.makespan - end;
  }
}

void Predictor::FillCollectives() {
  // Messages between stages stop the stage that sends them: all of them are exposed.
  std::map<std::tuple<int32_t, int32_t, bool>, double> message_s;
  for (const TransferTime& one : plan_.prediction.transfers) {
    message_s[{one.from_stage, one.to_stage, one.gradient}] = one.seconds;
  }
  std::map<std::pair<int32_t, std::string>, double> sends_s;  // (stage, tensor)
  for (const StepSchedule& schedule : plan_.schedules) {
    for (const ScheduleItem& item : schedule.items) {
      for (const Transfer& send : item.sends) {
        if (send.peer_stage == schedule.stage) continue;
        const char* tensor = send.gradient ? kSentGradient : kSentActivation;
        sends_s[{schedule.stage, tensor}] +=
            message_s[{schedule.stage, send.peer_stage, send.gradient}];
      }
    }
  }
  for (CollectivePlan& one : plan_.collectives) {
    if (one.group < 0) {
      one.exposed_s = sends_s[{one.stage, one.tensor}];
      continue;
    }
    const CollectiveTime& time =
        collectives_[{one.stage, one.group, one.op, one.tensor, one.reason}];
    one.hidden_s = time.hidden_s;
    one.exposed_s = time.exposed_s;
  }
}

void Predictor::Run() {
  plan_.prediction = {};
  plan_.prediction.source = device_.speed_source;
  for (size_t s = 0; s < plan_.programs.size(); ++s) {
    PredictStage(plan_.programs[s], plan_.schedules[s]);
    AddTransfers(plan_.programs[s], plan_.schedules[s]);
  }
  const Timeline timeline = SimulateSchedules(plan_.schedules, PredictedCosts(plan_.prediction));
  plan_.prediction.step_s = timeline.makespan;
  plan_.prediction.bubble = timeline.bubble;
  AddMessages(timeline);
  FillCollectives();
}

}  // namespace

void Predict(const Topology& topology, const NetworkSpec& network, Plan* plan) {
  Predictor(topology, network, plan).Run();
}

ScheduleCosts PredictedCosts(const Prediction& prediction) {
  std::map<std::tuple<int32_t, Phase, int32_t>, double> runs;
  for (const PhaseTime& one : prediction.phases) {
    runs[{one.stage, one.phase, one.chunk}] = one.seconds;
  }
  std::map<std::tuple<int32_t, int32_t, bool>, double> transfers;
  for (const TransferTime& one : prediction.transfers) {
    transfers[{one.from_stage, one.to_stage, one.gradient}] = one.seconds;
  }
  return {[runs](int32_t stage, Phase phase, int32_t chunk) {
            const auto it = runs.find({stage, phase, chunk});
            return it == runs.end() ? 0.0 : it->second;
          },
          [transfers](int32_t from, int32_t to, bool gradient) {
            const auto it = transfers.find({from, to, gradient});
            return it == transfers.end() ? 0.0 : it->second;
          }};
}

double PredictedTokensPerSecond(const Plan& plan) {
  if (plan.prediction.step_s <= 0) return 0;
  return plan.run.expected_tokens / plan.prediction.step_s;
}

}  // namespace trireme
