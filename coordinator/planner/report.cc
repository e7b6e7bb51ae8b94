// The short texts of a plan: does it fit, the summary, programs and schedules.
#include "coordinator/planner/report.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "coordinator/compiler/orders/grid.h"
#include "coordinator/planner/predict.h"
#include "coordinator/planner/report_text.h"
#include "coordinator/planner/text_table.h"

namespace trireme {
namespace {

std::string Percent(int64_t part, int64_t whole) {
  return std::to_string(whole > 0 ? (100 * part + whole / 2) / whole : 0) + " %";
}

// The pool that the advice should be about.
std::string Advice(const MemoryPlan& memory) {
  const int64_t states = memory.params + memory.grads + memory.optimizer;
  if (memory.activations >= states) {
    return "activations take most: try a smaller train.microbatch_size, train.remat=block, "
           "a larger model axis, or residual/position: model";
  }
  return "parameters, gradients and optimizer state take most: try more devices on the data axis "
         "(mesh.param_mapping embed: data splits them), a larger model axis, or a stage axis";
}

std::string FitText(const Plan& plan, const DeviceKind& device) {
  if (device.memory_bytes <= 0) return device.name + ": memory is not limited by the plan";
  const Status fits = CheckFits(plan, device);
  if (!fits.ok()) return "does not fit: " + std::string(fits.message());
  int64_t most = 0;
  for (const MemoryPlan& memory : plan.memory) most = std::max(most, memory.total + memory.reserve);
  return "fits: at most " + HumanBytes(most) + " of " + HumanBytes(device.memory_bytes) + " (" +
         Percent(most, device.memory_bytes) + ") of " + device.name;
}

std::string HostsText(const Plan& plan) {
  constexpr size_t kMaxHostLines = 8;
  struct HostLine {
    std::string host;
    std::vector<int64_t> ranks;
    std::vector<int64_t> stages;
  };
  std::vector<HostLine> hosts;
  std::map<std::string, size_t> index;
  for (const RankPlacement& rank : plan.ranks) {
    const auto [it, is_new] = index.emplace(rank.host, hosts.size());
    if (is_new) hosts.push_back({rank.host, {}, {}});
    HostLine& line = hosts[it->second];
    line.ranks.push_back(rank.rank);
    if (line.stages.empty() || line.stages.back() != rank.stage) line.stages.push_back(rank.stage);
  }
  TextTable table({"host", "ranks", "stage"});
  for (size_t i = 0; i < hosts.size() && i < kMaxHostLines; ++i) {
    std::sort(hosts[i].ranks.begin(), hosts[i].ranks.end());
    std::sort(hosts[i].stages.begin(), hosts[i].stages.end());
    table.AddRow({hosts[i].host, RunsText(hosts[i].ranks), RunsText(hosts[i].stages)});
  }
  std::string text = table.ToText(2);
  if (hosts.size() > kMaxHostLines) {
    text += "  ... and " + std::to_string(hosts.size() - kMaxHostLines) + " more hosts\n";
  }
  return text;
}

// Traffic of one rank a step, over the busiest stage of each fabric.
std::string FabricText(const Plan& plan) {
  std::map<std::pair<int32_t, Fabric>, int64_t> by_stage;
  int64_t most[2] = {0, 0};
  for (const CollectivePlan& one : plan.collectives) {
    int64_t& sum = by_stage[{one.stage, one.fabric}];
    sum += one.bytes_per_step;
    int64_t& best = most[static_cast<int>(one.fabric)];
    best = std::max(best, sum);
  }
  return "a rank moves at most " + HumanBytes(most[0]) + " over ici and " + HumanBytes(most[1]) +
         " over dcn a step";
}

std::string GroupedCollectives(const Plan& plan) {
  if (plan.collectives.empty()) return "  none\n";
  using Key = std::tuple<int32_t, std::string, std::string, Fabric>;
  std::map<Key, std::pair<int64_t, int64_t>> groups;
  for (const CollectivePlan& one : plan.collectives) {
    auto& [count, bytes] = groups[{one.stage, one.op, AxesText(one.axes), one.fabric}];
    count += one.count_per_step;
    bytes += one.bytes_per_step;
  }
  TextTable table({"stage", "op", "axes", "fabric", "count", "bytes"});
  for (const auto& [key, sums] : groups) {
    const auto& [stage, op, axes, fabric] = key;
    table.AddRow({std::to_string(stage), op, axes, std::string(Name(fabric)),
                  std::to_string(sums.first), HumanBytes(sums.second)});
  }
  return table.ToText(2);
}

}  // namespace

Status CheckFits(const Plan& plan, const DeviceKind& device) {
  if (device.memory_bytes <= 0) return absl::OkStatus();
  for (size_t stage = 0; stage < plan.memory.size(); ++stage) {
    const MemoryPlan& memory = plan.memory[stage];
    const int64_t needed = memory.total + memory.reserve;
    if (needed <= device.memory_bytes) continue;
    return ResourceExhausted(
        "a rank of stage " + std::to_string(stage) + " needs " + HumanBytes(needed) + " (params " +
        HumanBytes(memory.params) + ", grads " + HumanBytes(memory.grads) + ", optimizer " +
        HumanBytes(memory.optimizer) + ", activations " + HumanBytes(memory.activations) +
        ", reserve " + HumanBytes(memory.reserve) + ") and " + device.name + " has " +
        HumanBytes(device.memory_bytes) + ": " + HumanBytes(needed - device.memory_bytes) +
        " too much; " + Advice(memory));
  }
  return absl::OkStatus();
}

std::string PlanSummary(const Plan& plan, const DeviceKind& device) {
  const TrainingRun& run = plan.run;
  std::string text = "job        " + plan.job_name + ": " + Count(plan.mesh.num_ranks(), "rank") +
                     " on " + device.name + ", " + Count(plan.num_stages(), "stage") + "\n";
  text += "mesh       " + plan.mesh.ToText() + "\n";
  text += "batch      " + Count(run.global_batch_size, "sequence") + " of " +
          Count(run.sequence_length, "token") + "; a replica works on " +
          Count(run.num_microbatches, "microbatch", "microbatches") + " of " +
          Count(run.microbatch_size, "sequence") + "\n";
  text += "run        " + Count(run.steps, "step") + ", seed " + std::to_string(run.seed) + "\n";
  const std::string predicted = PredictionText(plan);
  if (!predicted.empty()) text += "predicted  " + predicted + "\n";
  text += "\nhosts\n" + HostsText(plan);
  text += "\nmemory of a rank\n" + MemoryTable(plan) + "  " + FitText(plan, device) + "\n";
  text += "\ncollectives of a rank and step\n" + GroupedCollectives(plan);
  text += "  " + FabricText(plan) + "\n";
  if (!plan.reasons.empty()) text += "\nnotes\n" + ReasonLines(plan);
  return text;
}

std::string PlanProgram(const Plan& plan) {
  std::string text;
  for (const StageProgram& program : plan.programs) {
    if (!text.empty()) text += "\n";
    text += program.ToText(plan.mesh);
  }
  return text;
}

std::string PlanSchedule(const Plan& plan) {
  std::string text =
      "# G gather once a step, F forward and B backward of a microbatch, >f <f >b <b send and "
      "receive\n# activations and gradients, U1 finish gradients, U2 update. Joined by +: at the "
      "same moment.\n";
  std::vector<std::pair<std::string, std::vector<int64_t>>> lines;
  for (const StepSchedule& schedule : plan.schedules) {
    const std::string step = schedule.ToText();
    if (lines.empty() || lines.back().first != step) lines.push_back({step, {}});
    lines.back().second.push_back(schedule.stage);
  }
  for (const auto& [step, stages] : lines) {
    text += (stages.size() > 1 ? "stages " : "stage ") + RunsText(stages) + ": " + step + "\n";
  }
  return text;
}

std::string PlanGrid(const Plan& plan) {
  const double step = plan.prediction.step_s;
  if (step <= 0) {
    const bool splits = std::any_of(
        plan.programs.begin(), plan.programs.end(),
        [](const StageProgram& program) { return !program.chunks[0].weight_grad.empty(); });
    return ScheduleGrid(plan.schedules, SimulateSchedules(plan.schedules, EqualCosts(splits))) +
           "not predicted: drawn with equal costs\n";
  }
  // Shown in a unit in which a step is a number of few digits.
  const double unit = step >= 1 ? 1 : step >= 1e-3 ? 1e-3 : 1e-6;
  Timeline timeline = SimulateSchedules(plan.schedules, PredictedCosts(plan.prediction));
  for (std::vector<ItemTimes>& items : timeline.items) {
    for (ItemTimes& times : items) {
      times.start /= unit;
      times.met /= unit;
      times.end /= unit;
    }
  }
  GridOptions options;
  options.unit = unit == 1 ? " s" : unit == 1e-3 ? " ms" : " us";
  return ScheduleGrid(plan.schedules, timeline, options) + "\npredicted " + PredictionText(plan) +
         "\n" + StageTimesTable(plan);
}

}  // namespace trireme
