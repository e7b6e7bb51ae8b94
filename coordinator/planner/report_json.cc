// Ranks and memory are appended as text: they are the only parts that grow with the number of
// devices.
#include <map>

#include "coordinator/planner/predict.h"
#include "coordinator/planner/report.h"
#include "nlohmann/json.hpp"

namespace trireme {
namespace {

using Json = nlohmann::ordered_json;

std::string Quote(const std::string& text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string Dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json AxesJson(const Mesh& mesh) {
  Json axes = Json::array();
  for (const MeshAxis& axis : mesh.axes()) {
    axes.push_back(
        {{"name", axis.name}, {"size", axis.size}, {"fabric", std::string(Name(axis.fabric))}});
  }
  return Json{{"axes", axes}};
}

Json TrainJson(const TrainingRun& run) {
  return Json{{"steps", run.steps},
              {"global_batch_size", run.global_batch_size},
              {"microbatch_size", run.microbatch_size},
              {"num_microbatches", run.num_microbatches},
              {"sequence_length", run.sequence_length}};
}

std::string RanksText(const Plan& plan) {
  std::vector<std::string> axis_keys;
  for (const MeshAxis& axis : plan.mesh.axes()) axis_keys.push_back(Quote(axis.name) + ":");
  std::map<std::string, std::string> quoted_hosts;
  std::string text;
  for (const RankPlacement& rank : plan.ranks) {
    std::string& host = quoted_hosts[rank.host];
    if (host.empty()) host = Quote(rank.host);
    if (!text.empty()) text += ",\n  ";
    text += "{\"rank\":" + std::to_string(rank.rank) + ",\"host\":" + host +
            ",\"device\":" + std::to_string(rank.device) + ",\"coordinates\":{";
    for (size_t a = 0; a < axis_keys.size() && a < rank.coordinates.size(); ++a) {
      if (a > 0) text += ",";
      text += axis_keys[a] + std::to_string(rank.coordinates[a]);
    }
    text += "},\"stage\":" + std::to_string(rank.stage) + "}";
  }
  return text;
}

std::string MemoryText(const Plan& plan) {
  std::vector<std::string> of_stage;
  for (const MemoryPlan& memory : plan.memory) {
    of_stage.push_back(",\"params\":" + std::to_string(memory.params) +
                       ",\"grads\":" + std::to_string(memory.grads) +
                       ",\"optimizer\":" + std::to_string(memory.optimizer) +
                       ",\"activations\":" + std::to_string(memory.activations) +
                       ",\"total\":" + std::to_string(memory.total) +
                       ",\"reserve\":" + std::to_string(memory.reserve) + "}");
  }
  std::string text;
  for (const RankPlacement& rank : plan.ranks) {
    if (!text.empty()) text += ",\n  ";
    text += "{\"rank\":" + std::to_string(rank.rank) + of_stage[rank.stage];
  }
  return text;
}

Json ParametersJson(const Plan& plan) {
  Json all = Json::array();
  for (const ParameterPlan& parameter : plan.parameters) {
    all.push_back({{"name", parameter.name},
                   {"shape", parameter.shape},
                   {"spec", parameter.spec},
                   {"local_shape", parameter.local_shape},
                   {"slices", parameter.slices},
                   {"stage", parameter.stage}});
  }
  return all;
}

Json CollectivesJson(const Plan& plan) {
  Json all = Json::array();
  for (const CollectivePlan& collective : plan.collectives) {
    all.push_back({{"op", collective.op},
                   {"axes", collective.axes},
                   {"fabric", std::string(Name(collective.fabric))},
                   {"bytes_per_step", collective.bytes_per_step},
                   {"count_per_step", collective.count_per_step},
                   {"tensor", collective.tensor},
                   {"reason", collective.reason},
                   {"stage", collective.stage},
                   {"hidden_s", collective.hidden_s},
                   {"exposed_s", collective.exposed_s}});
  }
  return all;
}

Json PredictionJson(const Plan& plan) {
  const Prediction& prediction = plan.prediction;
  Json stages = Json::array();
  for (size_t s = 0; s < prediction.stages.size(); ++s) {
    const StagePrediction& one = prediction.stages[s];
    stages.push_back({{"stage", s},
                      {"busy_s", one.busy_s()},
                      {"compute_s", one.compute_s},
                      {"exposed_s", one.exposed_s},
                      {"hidden_s", one.hidden_s},
                      {"sends_s", one.sends_s},
                      {"waits_s", one.waits_s}});
  }
  Json phases = Json::array();
  for (const PhaseTime& one : prediction.phases) {
    phases.push_back({{"stage", one.stage},
                      {"phase", std::string(Name(one.phase))},
                      {"chunk", one.chunk},
                      {"seconds", one.seconds}});
  }
  return Json{{"step_s", prediction.step_s},
              {"tokens_per_s", PredictedTokensPerSecond(plan)},
              {"bubble", prediction.bubble},
              {"source", prediction.source},
              {"stages", stages},
              {"phases", phases}};
}

// One element a line, so that a plan can be read and compared as text.
std::string Lines(const Json& array) {
  std::string text;
  for (const Json& one : array) text += (text.empty() ? "" : ",\n  ") + Dump(one);
  return text;
}

}  // namespace

std::string PlanToJson(const Plan& plan, const DeviceKind& device) {
  Json reasons = Json::array();
  for (const Reason& reason : plan.reasons) {
    reasons.push_back({{"code", reason.code}, {"text", reason.text}});
  }
  const Json device_json = {
      {"name", device.name}, {"memory", device.memory_bytes}, {"reserve", device.reserve_bytes}};
  std::string text = "{\"job\":" + Quote(plan.job_name) + ",\n\"device\":" + Dump(device_json) +
                     ",\n\"fits\":" + (CheckFits(plan, device).ok() ? "true" : "false") +
                     ",\n\"mesh\":" + Dump(AxesJson(plan.mesh)) +
                     ",\n\"train\":" + Dump(TrainJson(plan.run));
  text += ",\n\"ranks\":[\n  " + RanksText(plan) + "]";
  text += ",\n\"parameters\":[\n  " + Lines(ParametersJson(plan)) + "]";
  text += ",\n\"memory\":[\n  " + MemoryText(plan) + "]";
  text += ",\n\"collectives\":[\n  " + Lines(CollectivesJson(plan)) + "]";
  text += ",\n\"prediction\":" + Dump(PredictionJson(plan));
  text += ",\n\"reasons\":[\n  " + Lines(reasons) + "]}\n";
  return text;
}

}  // namespace trireme
