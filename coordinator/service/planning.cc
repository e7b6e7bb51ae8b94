// Planned devices count from 0 on each host; the gang knows which devices of the worker these are.
#include "coordinator/service/planning.h"

#include <utility>

#include "common/base/check.h"
#include "common/formats/sha256.h"
#include "common/plan/wire.h"
#include "coordinator/planner/report.h"

namespace trireme {
namespace {

void FillLimit(const LinkLimit& limit, v1::NetworkConfig::Limit& to) {
  to.set_mbit_per_s(limit.mbit_per_s);
  to.set_latency_ms(limit.latency_ms);
}

void FillConfigs(const JobSpec& job, AttemptPlan& attempt) {
  for (const DataSource& source : job.data.train) attempt.data.add_paths(source.path);
  attempt.data.set_tokenizer(job.data.tokenizer);
  attempt.checkpoint.set_path(job.checkpoint.path);
  attempt.checkpoint.set_every(job.checkpoint.every);
  attempt.checkpoint.set_load(job.checkpoint.load);
  attempt.load_newest = job.checkpoint.load.empty() && !job.checkpoint.path.empty();
  FillLimit(job.network.ici, *attempt.network.mutable_ici());
  FillLimit(job.network.dcn, *attempt.network.mutable_dcn());
  attempt.trace.set_path(job.trace.path);
  attempt.trace.set_first_step(job.trace.first_step);
  attempt.trace.set_steps(job.trace.steps);
}

void FillStages(const Plan& plan, PlannedAttempt& result) {
  for (int stage = 0; stage < plan.num_stages(); ++stage) {
    std::string bytes = SerializeRankProgram(plan, stage);
    const std::string sha256 = Sha256Hex(bytes);
    result.programs.emplace(sha256, std::make_shared<const std::string>(std::move(bytes)));
    v1::StageSchedule& schedule = result.stages.emplace_back();
    schedule.set_stage(stage);
    schedule.set_text(plan.schedules[stage].ToText());
    schedule.set_program_sha256(sha256);
  }
}

}  // namespace

StatusOr<Topology> TopologyOf(const Gang& gang) {
  ASSIGN_OR_RETURN(const DeviceKind kind, FindDeviceKind(gang.device_kind));
  std::vector<Host> hosts;
  for (const GangWorker& worker : gang.workers) {
    hosts.push_back({worker.worker, worker.slice, static_cast<int64_t>(worker.devices.size())});
  }
  return MakeTopology(kind, std::move(hosts));
}

StatusOr<PlannedAttempt> PlanAttempt(const JobSpec& job, const Gang& gang,
                                     const PlannerInterface& planner) {
  ASSIGN_OR_RETURN(const Topology topology, TopologyOf(gang));
  ASSIGN_OR_RETURN(const Plan plan, planner.MakePlan(job, topology));
  RETURN_IF_ERROR(CheckFits(plan, topology.device));
  PlannedAttempt result;
  FillConfigs(job, result.attempt);
  FillStages(plan, result);
  result.attempt.summary = PlanSummary(plan, topology.device);
  std::map<std::string, const GangWorker*> workers;
  for (const GangWorker& worker : gang.workers) workers[worker.worker] = &worker;
  for (const RankPlacement& rank : plan.ranks) {
    const auto worker = workers.find(rank.host);
    CHECK(worker != workers.end()) << "the plan names host " << rank.host;
    const auto& devices = worker->second->devices;
    CHECK(rank.device >= 0 && rank.device < static_cast<int64_t>(devices.size()))
        << "device " << rank.device << " of " << rank.host;
    v1::StageSchedule& stage = result.stages.at(rank.stage);
    stage.add_ranks(static_cast<int32_t>(rank.rank));
    result.attempt.ranks.push_back({rank.host, devices[rank.device], stage.program_sha256(),
                                    plan.memory.at(rank.stage).total, worker->second->slice});
  }
  return result;
}

StatusOr<v1::PlanJobResponse> PlanTexts(const JobSpec& job, const Topology& topology,
                                        const v1::PlanJobRequest& request,
                                        const PlannerInterface& planner) {
  ASSIGN_OR_RETURN(const Plan plan, planner.MakePlan(job, topology));
  v1::PlanJobResponse response;
  response.set_plan_json(PlanToJson(plan, topology.device));
  response.set_summary_text(PlanSummary(plan, topology.device));
  if (request.explain()) response.set_explain_text(PlanExplain(plan, topology.device));
  if (request.program()) response.set_program_text(PlanProgram(plan));
  if (request.schedule()) response.set_schedule_text(PlanSchedule(plan));
  if (request.grid()) response.set_grid_text(PlanGrid(plan));
  return response;
}

}  // namespace trireme
