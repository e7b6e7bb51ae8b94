// The long texts of a plan: why it is so, and what one rank holds.
#include "coordinator/planner/report_text.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <utility>

#include "coordinator/planner/predict.h"
#include "coordinator/planner/report.h"
#include "coordinator/planner/summary.h"
#include "coordinator/planner/text_table.h"

namespace trireme {
namespace {

std::string StageText(const Plan& plan, int32_t stage) {
  return plan.num_stages() > 1 ? "stage " + std::to_string(stage) + ": " : "";
}

// What an axis does, from the mapping: names say nothing by themselves.
std::string RoleOf(const Plan& plan, int axis) {
  if (axis == plan.stage_axis) return "stages: layers are mapped to it";
  const auto& data = plan.data_axes;
  if (std::find(data.begin(), data.end(), axis) != data.end()) return "batch is mapped to it";
  if (plan.mesh.axis(axis).size == 1) return "size 1: splits nothing";
  if (IsIdleAxis(plan, axis)) return "splits nothing: its ranks repeat the same work";
  return "splits tensors or computation of one replica";
}

// "model.layers.{}.weight" and 12, when exactly one part of a dotted name is a number.
std::pair<std::string, int64_t> SplitLayer(const std::string& name) {
  std::string pattern;
  int64_t layer = -1;
  for (size_t begin = 0; begin <= name.size();) {
    const size_t end = std::min(name.find('.', begin), name.size());
    const std::string part = name.substr(begin, end - begin);
    const bool number =
        !part.empty() && part.size() < 10 &&
        std::all_of(part.begin(), part.end(), [](unsigned char c) { return std::isdigit(c); });
    if (!pattern.empty()) pattern += ".";
    if (number && layer < 0) {
      layer = std::stoll(part);
      pattern += "{}";
    } else {
      pattern += part;
    }
    begin = end + 1;
  }
  return {pattern, layer};
}

struct ParameterLine {
  std::string pattern;
  ParameterPlan first;
  std::vector<int64_t> layers;
};

// Parameters of one stage (-1: all) in order; layers that are alike become one line.
std::string ParameterTable(const Plan& plan, int32_t stage, int indent) {
  std::vector<ParameterLine> lines;
  std::map<std::string, size_t> index;
  for (const ParameterPlan& one : plan.parameters) {
    if (stage >= 0 && one.stage != stage) continue;
    const auto [pattern, layer] = SplitLayer(one.name);
    const std::string key = pattern + " " + ShapeText(one.shape) + " " + one.spec + " " +
                            ShapeText(one.local_shape) + " " + std::to_string(one.stage);
    const auto [it, is_new] = index.emplace(key, lines.size());
    if (is_new) lines.push_back({pattern, one, {}});
    if (layer >= 0) lines[it->second].layers.push_back(layer);
  }
  TextTable table({"parameter", "shape", "sharding", "on a rank", "slices", "stage"});
  for (ParameterLine& line : lines) {
    std::sort(line.layers.begin(), line.layers.end());
    std::string name = line.pattern;
    const size_t hole = name.find("{}");
    if (hole != std::string::npos) name.replace(hole, 2, "{" + RunsText(line.layers) + "}");
    if (line.layers.size() == 1) name = line.first.name;
    table.AddRow({name, ShapeText(line.first.shape), line.first.spec,
                  ShapeText(line.first.local_shape), std::to_string(line.first.slices),
                  std::to_string(line.first.stage)});
  }
  return table.ToText(indent);
}

// Nothing when the plan was not predicted.
std::string HiddenText(const Plan& plan, const CollectivePlan& one) {
  if (plan.prediction.step_s <= 0) return "";
  return ", hidden " + HumanSeconds(one.hidden_s) + ", exposed " + HumanSeconds(one.exposed_s) +
         " a step";
}

std::string CollectiveText(const Plan& plan, const CollectivePlan& one) {
  return "  " + StageText(plan, one.stage) + one.op + " of " + one.tensor + " over " +
         AxesText(one.axes) + " on " + std::string(Name(one.fabric)) + ", " +
         Count(one.count_per_step, "time") + " a step, " + HumanBytes(one.bytes_per_step) +
         HiddenText(plan, one) + "\n      because " +
         (one.reason.empty() ? "the program asks for it" : one.reason) + "\n";
}

std::string GroupLine(const Plan& plan, const Group& group, int64_t rank) {
  std::vector<std::string> names;
  std::vector<int> axes;
  for (const int32_t axis : group.axes) {
    names.push_back(plan.mesh.axis(axis).name);
    axes.push_back(axis);
  }
  std::vector<int64_t> ranks = plan.mesh.GroupMembers(rank, axes);
  if (!group.members.empty()) {
    ranks.erase(std::remove_if(ranks.begin(), ranks.end(),
                               [&](int64_t member) {
                                 const int64_t c = plan.mesh.Coordinates(member)[axes[0]];
                                 return std::find(group.members.begin(), group.members.end(), c) ==
                                        group.members.end();
                               }),
                ranks.end());
  }
  std::sort(ranks.begin(), ranks.end());
  return "  " + AxesText(names) + " on " + std::string(Name(group.fabric)) + ": ranks " +
         RunsText(ranks) + "\n";
}

std::string PoolTable(const StageProgram& program) {
  TextTable table({"pool", "slots", "bytes of a slot", "bytes"});
  for (const PoolSize& pool : program.pools) {
    table.AddRow({std::string(Name(pool.pool)), std::to_string(pool.slots),
                  std::to_string(pool.bytes), std::to_string(program.PoolBytes(pool.pool))});
  }
  table.AddRow(
      {"arena", "1", std::to_string(program.ArenaBytes()), std::to_string(program.ArenaBytes())});
  return table.ToText(2);
}

}  // namespace

std::string Count(int64_t number, std::string_view singular, std::string_view plural) {
  std::string text = std::to_string(number) + " ";
  if (number == 1) return text + std::string(singular);
  if (!plural.empty()) return text + std::string(plural);
  return text + std::string(singular) + "s";
}

std::string AxesText(const std::vector<std::string>& axes) {
  std::string text = "(";
  for (const std::string& axis : axes) text += (text.size() > 1 ? ", " : "") + axis;
  return text + ")";
}

std::string ShapeText(const std::vector<int64_t>& shape) {
  std::string text = "[";
  for (const int64_t size : shape) text += (text.size() > 1 ? ", " : "") + std::to_string(size);
  return text + "]";
}

std::string MemoryTable(const Plan& plan) {
  TextTable table({"stage", "params", "grads", "optimizer", "activations", "total", "reserve"});
  for (size_t stage = 0; stage < plan.memory.size(); ++stage) {
    const MemoryPlan& memory = plan.memory[stage];
    table.AddRow({std::to_string(stage), HumanBytes(memory.params), HumanBytes(memory.grads),
                  HumanBytes(memory.optimizer), HumanBytes(memory.activations),
                  HumanBytes(memory.total), HumanBytes(memory.reserve)});
  }
  return table.ToText(2);
}

std::string PredictionText(const Plan& plan) {
  const Prediction& prediction = plan.prediction;
  if (prediction.step_s <= 0) return "";
  StagePrediction busiest;
  for (const StagePrediction& stage : prediction.stages) {
    if (stage.busy_s() > busiest.busy_s()) busiest = stage;
  }
  std::string text = "step " + HumanSeconds(prediction.step_s) + " (compute " +
                     HumanSeconds(busiest.compute_s) + ", exposed transfers " +
                     HumanSeconds(busiest.exposed_s + busiest.sends_s) + ", hidden " +
                     HumanSeconds(busiest.hidden_s) + ")";
  if (plan.num_stages() > 1) {
    text += ", bubble " + std::to_string(std::lround(100 * prediction.bubble)) + " %";
  }
  text += ", " + ShortCount(PredictedTokensPerSecond(plan)) + " tok/s";
  return prediction.source.empty() ? text : text + " (" + prediction.source + ")";
}

std::string StageTimesTable(const Plan& plan) {
  TextTable table({"stage", "busy", "compute", "exposed", "hidden", "sends", "waits"});
  const double step = plan.prediction.step_s;
  for (size_t s = 0; s < plan.prediction.stages.size(); ++s) {
    const StagePrediction& one = plan.prediction.stages[s];
    const double part = step > 0 ? one.busy_s() / step : 0;
    table.AddRow({std::to_string(s), std::to_string(std::lround(100 * part)) + " %",
                  HumanSeconds(one.compute_s), HumanSeconds(one.exposed_s),
                  HumanSeconds(one.hidden_s), HumanSeconds(one.sends_s),
                  HumanSeconds(one.waits_s)});
  }
  return table.ToText(2);
}

std::string ReasonLines(const Plan& plan) {
  std::string text;
  for (const Reason& reason : plan.reasons) text += "  " + reason.code + "  " + reason.text + "\n";
  return text;
}

std::string PlanExplain(const Plan& plan, const DeviceKind& device) {
  std::string text = "mesh " + plan.mesh.ToText() + " of " + Count(plan.mesh.num_ranks(), "rank") +
                     " on " + device.name + "\n";
  TextTable axes({"axis", "size", "fabric", "role"});
  for (int a = 0; a < plan.mesh.num_axes(); ++a) {
    const MeshAxis& axis = plan.mesh.axis(a);
    axes.AddRow(
        {axis.name, std::to_string(axis.size), std::string(Name(axis.fabric)), RoleOf(plan, a)});
  }
  text += axes.ToText(2);
  text += "\nparameters (names of layers that are alike share a line)\n";
  text += ParameterTable(plan, -1, 2);
  text += "\ncollectives of a rank and step\n";
  for (const CollectivePlan& one : plan.collectives) text += CollectiveText(plan, one);
  if (plan.collectives.empty()) text += "  none: every rank has all it needs\n";
  if (plan.prediction.step_s > 0) {
    text += "\npredicted " + PredictionText(plan) + "\n" + StageTimesTable(plan);
  }
  text += "\ndecisions\n" + ReasonLines(plan);
  if (plan.reasons.empty()) text += "  none: everything is as the job file says\n";
  return text;
}

StatusOr<std::string> PlanRank(const Plan& plan, int64_t rank) {
  if (rank < 0 || rank >= static_cast<int64_t>(plan.ranks.size())) {
    return InvalidArgument("there is no rank " + std::to_string(rank) +
                           "; this plan has ranks 0 to " +
                           std::to_string(static_cast<int64_t>(plan.ranks.size()) - 1));
  }
  const RankPlacement& place = plan.ranks[rank];
  std::string text = "rank " + std::to_string(rank) + ": host " + place.host + ", device " +
                     std::to_string(place.device) + ", stage " + std::to_string(place.stage) + "\n";
  text += "coordinates";
  for (int a = 0; a < plan.mesh.num_axes(); ++a) {
    text +=
        (a > 0 ? ", " : " ") + plan.mesh.axis(a).name + " " + std::to_string(place.coordinates[a]);
  }
  const StageProgram& program = plan.programs[place.stage];
  text += "\n\ngroups\n";
  for (const Group& group : program.groups) text += GroupLine(plan, group, rank);
  if (program.groups.empty()) text += "  none\n";
  text += "\nparameters\n" + ParameterTable(plan, place.stage, 2);
  text += "\nmemory\n" + PoolTable(program);
  return text;
}

}  // namespace trireme
