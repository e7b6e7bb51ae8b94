// Sums over instances; the same views that run are what is counted.
#include "coordinator/planner/summary.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "common/base/math.h"
#include "common/plan/resolve.h"

namespace trireme {
namespace {

// CollectivePlan::tensor of losses, tokens and norms.
constexpr char kStepSums[] = "reduce";

void SummarizeParameters(Plan* plan) {
  std::set<std::string> seen;
  for (const StageProgram& program : plan->programs) {
    for (const TensorPlacement& tensor : program.tensors) {
      if (!seen.insert(tensor.name).second) continue;
      ParameterPlan parameter{
          .name = tensor.name,
          .shape = Sizes(tensor.dims),
          .spec = ToText(plan->mesh, tensor.dims, tensor.param_sharding),
          .local_shape = LocalSizes(plan->mesh, tensor.dims, tensor.param_sharding),
          .stage = program.stage};
      for (size_t i = 0; i < tensor.dims.size(); ++i) {
        parameter.slices *= NumShards(plan->mesh, tensor.param_sharding, static_cast<int>(i));
      }
      plan->parameters.push_back(std::move(parameter));
    }
  }
}

void SummarizeMemory(int64_t reserve_bytes, Plan* plan) {
  for (const StageProgram& program : plan->programs) {
    MemoryPlan memory{.params = program.PoolBytes(Pool::kParam),
                      .grads = program.PoolBytes(Pool::kGrad),
                      .optimizer = program.PoolBytes(Pool::kState),
                      .total = program.ArenaBytes(),
                      .reserve = reserve_bytes};
    memory.activations = memory.total - memory.params - memory.grads - memory.optimizer;
    plan->memory.push_back(memory);
  }
}

// (op, group, tensor, reason) -> (bytes, count)
using Totals = std::map<std::tuple<std::string, int32_t, std::string, std::string>,
                        std::pair<int64_t, int64_t>>;

void AddInstances(const Plan& plan, const StageProgram& program,
                  const std::vector<Instance>& instances, int64_t times, Totals* totals) {
  for (const Instance& instance : instances) {
    for (const Instruction& instruction : program.codes[instance.code].instructions) {
      if (!IsCollective(instruction.op) || !instruction.predicate.empty()) continue;
      const int64_t bytes =
          CollectiveBytes(plan.mesh, program.groups[instruction.group], instruction);
      auto& [total, count] =
          (*totals)[{instruction.op, instruction.group, instruction.tensor, instruction.reason}];
      total += bytes * times;
      count += times;
    }
  }
}

void AddSends(const Plan& plan, const StageProgram& program, const StepSchedule& schedule,
              std::vector<CollectivePlan>* collectives) {
  int64_t bytes[2] = {};
  int64_t count[2] = {};
  for (const ScheduleItem& item : schedule.items) {
    for (const Transfer& send : item.sends) {
      if (send.peer_stage == program.stage) continue;  // a copy
      const ChunkProgram& chunk = program.chunks[send.chunk];
      for (const EdgePlacement& edge : send.gradient ? chunk.grad_edges_in : chunk.edges_out) {
        bytes[send.gradient] += edge.bytes;
      }
      ++count[send.gradient];
    }
  }
  for (const int gradient : {0, 1}) {
    if (count[gradient] == 0) continue;
    const MeshAxis& axis = plan.mesh.axis(plan.stage_axis);
    collectives->push_back({"send",
                            {axis.name},
                            axis.fabric,
                            bytes[gradient],
                            count[gradient],
                            gradient ? kSentGradient : kSentActivation,
                            "layers are split over " + axis.name,
                            program.stage});
  }
}

void SummarizeCollectives(Plan* plan) {
  for (size_t s = 0; s < plan->programs.size(); ++s) {
    const StageProgram& program = plan->programs[s];
    Totals totals;
    const int64_t microbatches = plan->run.num_microbatches;
    AddInstances(*plan, program, program.gather, 1, &totals);
    for (const ChunkProgram& chunk : program.chunks) {
      for (const auto* list : {&chunk.forward, &chunk.backward, &chunk.weight_grad}) {
        AddInstances(*plan, program, *list, microbatches, &totals);
      }
    }
    AddInstances(*plan, program, program.update1, 1, &totals);
    AddInstances(*plan, program, program.update2, 1, &totals);
    for (const auto& [key, sums] : totals) {
      const auto& [op, group_index, tensor, reason] = key;
      const Group& group = program.groups[group_index];
      CollectivePlan collective{.op = op,
                                .fabric = group.fabric,
                                .bytes_per_step = sums.first,
                                .count_per_step = sums.second,
                                .tensor = tensor,
                                .reason = reason,
                                .stage = program.stage,
                                .group = group_index};
      for (const int32_t axis : group.axes) collective.axes.push_back(plan->mesh.axis(axis).name);
      plan->collectives.push_back(std::move(collective));
    }
    AddSends(*plan, program, plan->schedules[s], &plan->collectives);
  }
}

}  // namespace

bool IsIdleAxis(const Plan& plan, int axis) {
  const MeshAxis& named = plan.mesh.axis(axis);
  const auto& data = plan.data_axes;
  if (named.size == 1 || axis == plan.stage_axis) return false;
  if (std::find(data.begin(), data.end(), axis) != data.end()) return false;
  // What is split meets again somewhere; sums of a step go over every rank anyhow.
  return std::none_of(plan.collectives.begin(), plan.collectives.end(), [&](const auto& one) {
    return one.tensor != kStepSums &&
           std::find(one.axes.begin(), one.axes.end(), named.name) != one.axes.end();
  });
}

int64_t CollectiveBytes(const Mesh& mesh, const Group& group, const Instruction& instruction) {
  const int64_t n = GroupSize(group, mesh);
  const auto bytes = [](const View& view) { return Product(view.sizes) * SizeOf(view.dtype); };
  const int64_t in = bytes(instruction.in[0]);
  const int64_t out = bytes(instruction.out[0]);
  if (instruction.op == kAllReduceOp) return 2 * in * (n - 1) / n;
  if (instruction.op == kPermuteOp) return in;
  return std::max(in, out) * (n - 1) / n;
}

void Summarize(int64_t reserve_bytes, Plan* plan) {
  SummarizeParameters(plan);
  SummarizeMemory(reserve_bytes, plan);
  SummarizeCollectives(plan);
}

}  // namespace trireme
