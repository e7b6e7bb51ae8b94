// A planner for tests: one stage, ranks in gang order, no computation. Fails for jobs called
// "unplannable".
#ifndef TRIREME_COORDINATOR_SERVICE_TEST_PLANNER_H_
#define TRIREME_COORDINATOR_SERVICE_TEST_PLANNER_H_

#include <string>

#include "coordinator/service/planner_interface.h"

namespace trireme {

class TestPlanner : public PlannerInterface {
 public:
  StatusOr<Plan> MakePlan(const JobSpec& job, const Topology& topology) const override {
    if (job.name == "unplannable") return InvalidArgument("tp=8 does not divide 12 heads");
    Plan plan;
    plan.job_name = job.name;
    ASSIGN_OR_RETURN(plan.mesh, Mesh::Create({{"data", topology.num_devices(), Fabric::kIci}}));
    for (const Host& host : topology.hosts) {
      for (int32_t device = 0; device < host.devices; ++device) {
        const auto rank = static_cast<int64_t>(plan.ranks.size());
        plan.ranks.push_back({rank, host.name, device, {rank}, 0});
      }
    }
    plan.programs.resize(1);
    plan.programs[0].pools = {{Pool::kParam, 4096, 1}};
    plan.schedules.resize(1);
    ScheduleItem item;
    item.microbatch = item.slot = 0;
    plan.schedules[0].items = {item};
    plan.memory = {{4096, 0, 0, 0, 4096, 0}};
    plan.run.steps = job.train.steps;
    return plan;
  }
};

// A job file for `devices` devices in one slice.
inline std::string TestJobText(const std::string& name, int devices, int steps = 3) {
  return "name: " + name +
         "\nmodel: {type: llama, hidden_size: 8, intermediate_size: 16, num_hidden_layers: 1, "
         "num_attention_heads: 2, vocab_size: 256, max_position_embeddings: 16}\n"
         "data: {train: [{path: /tmp/none.txt}], sequence_length: 16}\n"
         "train: {steps: " +
         std::to_string(steps) +
         ", global_batch_size: 8}\n"
         "checkpoint: {path: /ckpt}\n"
         "mesh: {axes: {data: " +
         std::to_string(devices) + "}, dcn_axes: {replica_dcn: 1}}\n";
}

}  // namespace trireme

#endif  // TRIREME_COORDINATOR_SERVICE_TEST_PLANNER_H_
