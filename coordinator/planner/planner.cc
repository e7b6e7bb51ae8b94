// Chooses mesh, batch shape and stages, runs the compiler, and sums up what came out.
#include "coordinator/planner/planner.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "common/base/math.h"
#include "common/config/lr_schedule.h"
#include "common/sharding/mapping.h"
#include "coordinator/compiler/autodiff/autodiff.h"
#include "coordinator/compiler/orders/order.h"
#include "coordinator/compiler/passes/compile.h"
#include "coordinator/planner/predict.h"
#include "coordinator/planner/report.h"
#include "coordinator/planner/summary.h"
#include "kernels/ops/rule.h"

namespace trireme {
namespace {

// What the mesh and mappings say about the roles of axes and the shape of a microbatch.
struct Roles {
  std::vector<int> data_axes;
  int stage_axis = -1;
  int64_t replicas = 1;
  int64_t position_multiple = 1;
  int64_t zigzag_shards = 1;
  int64_t router_replicas = 1;  // parts of a microbatch's sequences where routers see them
  // Parts of a microbatch's tokens where routers see them and where experts do, and of the experts.
  int64_t token_shards = 1;
  int64_t expert_token_shards = 1;
  int64_t expert_shards = 1;
};

// Regions that the grammar knows and this compiler does not use yet: better refused than ignored.
Status CheckRegions(const MappingConfig& config) {
  for (const DimMapping* map :
       {&config.shared, &config.compute, &config.param, &config.optimizer}) {
    for (const auto& [key, axes] : *map) {
      if (key.rfind("stage_edge/", 0) == 0) {
        return InvalidArgument("mesh mapping " + key +
                               ": edges between stages travel as the residual stream lies; map "
                               "residual/" +
                               key.substr(11) + " instead");
      }
      if (key.rfind("optimizer/", 0) == 0) {
        return InvalidArgument("mesh mapping " + key + ": write " + key.substr(10) +
                               " in mesh.optimizer_mapping instead");
      }
    }
  }
  return absl::OkStatus();
}

// Positions that a ring carries keys around for, and the order in which they lie.
Status FindContext(const JobSpec& job, const Mesh& mesh, const Mapping& mapping, Roles* roles) {
  const MappedAxes queries = mapping.Lookup(MappingKind::kCompute, "attention", "position");
  const MappedAxes keys = mapping.Lookup(MappingKind::kCompute, "attention", "key_position");
  if (!keys.axes.empty() && keys.axes != queries.axes) {
    return InvalidArgument("key_position is split (" + keys.entry +
                           ") but position is not split the same way (" + queries.entry +
                           "): a ring of keys needs both on the same axis; map them alike or "
                           "attention/key_position to null");
  }
  if (!job.context_parallel.zigzag || queries.axes.empty()) return absl::OkStatus();
  roles->zigzag_shards = mesh.GroupSize(queries.axes);
  roles->position_multiple = std::lcm(roles->position_multiple, 2 * roles->zigzag_shards);
  return absl::OkStatus();
}

StatusOr<Roles> FindRoles(const JobSpec& job, const Mesh& mesh, const Mapping& mapping) {
  Roles roles;
  roles.data_axes = mapping.Lookup(MappingKind::kCompute, "residual", "batch").axes;
  roles.replicas = mesh.GroupSize(roles.data_axes);
  const std::vector<int> stages = mapping.Lookup(MappingKind::kCompute, "residual", "layers").axes;
  if (stages.size() > 1) {
    return InvalidArgument("layers is mapped to " + std::to_string(stages.size()) +
                           " axes; stages are numbered by one: map layers to one axis");
  }
  if (!stages.empty()) roles.stage_axis = stages[0];
  for (const std::string_view region : KnownRegions()) {
    for (const std::string_view dim : {"position", "key_position"}) {
      const int64_t shards =
          mesh.GroupSize(mapping.Lookup(MappingKind::kCompute, region, dim).axes);
      roles.position_multiple = std::lcm(roles.position_multiple, shards);
    }
  }
  const auto shards = [&](const char* region, const char* dim) {
    return mesh.GroupSize(mapping.Lookup(MappingKind::kCompute, region, dim).axes);
  };
  roles.router_replicas = shards("mlp", "batch");
  roles.token_shards = shards("mlp", "token_shard");
  roles.expert_token_shards = shards("experts", "token_shard");
  roles.expert_shards = shards("experts", "expert_shard");
  RETURN_IF_ERROR(FindContext(job, mesh, mapping, &roles));
  return roles;
}

// Sequences of a replica's microbatch, and how many microbatches make a step.
Status ChooseMicrobatch(const TrainSpec& train, const Roles& roles, TrainingRun* run) {
  const int64_t batch = train.global_batch_size;
  if (batch % roles.replicas != 0) {
    return InvalidArgument(
        "train.global_batch_size " + std::to_string(batch) + " does not divide over " +
        std::to_string(roles.replicas) + " data-parallel replicas; try " +
        (batch > roles.replicas ? std::to_string(batch / roles.replicas * roles.replicas) + " or "
                                : std::string()) +
        std::to_string(RoundUp(batch, roles.replicas)));
  }
  const int64_t per_replica = batch / roles.replicas;
  const int64_t microbatch =
      train.microbatch_size > 0 ? std::min(train.microbatch_size, per_replica) : per_replica;
  if (per_replica % microbatch != 0) {
    int64_t lower = microbatch;
    while (per_replica % lower != 0) --lower;
    return InvalidArgument("train.microbatch_size " + std::to_string(microbatch) +
                           " does not divide the " + std::to_string(per_replica) +
                           " sequences of a replica (global batch " + std::to_string(batch) +
                           " over " + std::to_string(roles.replicas) + " replicas); try " +
                           std::to_string(lower));
  }
  run->microbatch_size = microbatch;
  run->num_microbatches = per_replica / microbatch;
  return absl::OkStatus();
}

// Sequences whose routing is judged together are on one rank and in one microbatch.
Status CheckBalanceGroups(const JobSpec& job, const Roles& roles, const TrainingRun& run) {
  const int64_t group = job.moe.balance_group_sequences;
  const int64_t together = run.microbatch_size * roles.replicas / roles.router_replicas;
  if (job.model.experts.num_experts == 0 || together % group == 0) return absl::OkStatus();
  const int64_t per_replica = together * run.num_microbatches;
  const int64_t multiple = group * std::max<int64_t>(1, roles.router_replicas / roles.replicas);
  return InvalidArgument(
      "moe.balance_group_sequences " + std::to_string(group) + " does not divide the " +
      std::to_string(together) +
      " sequences of a replica's microbatch where its router is, so a group would be on two ranks "
      "or in two microbatches; " +
      (per_replica % group == 0 ? "set train.microbatch_size to a multiple of " +
                                      std::to_string(multiple) + ", or make groups smaller"
                                : "make groups smaller: a replica has only " +
                                      std::to_string(per_replica) + " sequences in a step"));
}

// What the exchange of rows was given room for.
void AddExpertReasons(const Model& model, Plan* plan) {
  for (const Graph& segment : model.segments) {
    for (const Node& node : segment.nodes) {
      if (node.op != "expert_mlp") continue;
      const auto number = [&](const char* name) { return std::to_string(node.attrs.GetInt(name)); };
      std::string text = "experts get pools of " + number("capacity") + " rows, one for each of " +
                         number("token_shards") + " part(s) of the tokens and each of " +
                         number("expert_shards") + " part(s) of the experts";
      if (node.attrs.GetInt("thin") != 0) {
        text += "; what does not fit is dropped evenly (moe.capacity_factor)";
      } else if (node.attrs.GetInt("waves") > 1) {
        text += "; what does not fit takes up to " +
                std::to_string(node.attrs.GetInt("waves") - 1) +
                " more wave(s), which run only where needed and are in no prediction: nothing is "
                "dropped";
      } else {
        text += ", which is all there can be: nothing is dropped";
      }
      plan->reasons.push_back({"EXPERT_POOLS", text});
      return;
    }
  }
}

void AddReasons(const Roles& roles, int64_t sequence, int64_t padded, const TrainSpec& train,
                Plan* plan) {
  if (padded != sequence) {
    plan->reasons.push_back(
        {"POSITION_PADDED", "sequence length " + std::to_string(sequence) + " is padded to " +
                                std::to_string(padded) +
                                " so that positions split evenly; padding has weight 0"});
  }
  if (train.microbatch_size > plan->run.microbatch_size) {
    plan->reasons.push_back({"MICROBATCH_CLAMPED",
                             "train.microbatch_size " + std::to_string(train.microbatch_size) +
                                 " is more than the " + std::to_string(plan->run.microbatch_size) +
                                 " sequences that each of " + std::to_string(roles.replicas) +
                                 " replicas has in a step"});
  }
}

// A misspelt axis is a good name too, so what it costs is said.
void AddIdleAxes(Plan* plan) {
  for (int axis = 0; axis < plan->mesh.num_axes(); ++axis) {
    if (!IsIdleAxis(*plan, axis)) continue;
    const MeshAxis& idle = plan->mesh.axis(axis);
    plan->reasons.push_back(
        {"AXIS_IDLE", "axis " + idle.name + " splits nothing of this model, so its " +
                          std::to_string(idle.size) +
                          " ranks repeat the same work; map a dim to it, or leave it out"});
  }
}

Status MakeRanks(const Topology& topology, Plan* plan) {
  const int64_t ranks = plan->mesh.num_ranks();
  plan->ranks.reserve(ranks);
  int64_t rank = 0;
  for (const Host& host : topology.hosts) {
    for (int64_t device = 0; device < host.devices; ++device, ++rank) {
      RankPlacement placement{
          .rank = rank, .host = host.name, .device = static_cast<int32_t>(device)};
      if (rank < ranks) placement.coordinates = plan->mesh.Coordinates(rank);
      if (rank < ranks && plan->stage_axis >= 0) {
        placement.stage = static_cast<int32_t>(placement.coordinates[plan->stage_axis]);
      }
      plan->ranks.push_back(std::move(placement));
    }
  }
  if (rank != ranks) {
    return InvalidArgument("the mesh has " + std::to_string(ranks) + " ranks but the fleet " +
                           std::to_string(rank) + " devices");
  }
  return absl::OkStatus();
}

struct Compilation {
  Purpose purpose = Purpose::kTrain;
  int64_t batch = 1;     // sequences of a microbatch over the whole mesh
  int64_t position = 1;  // padded
};

// Collectives that run beside the computation: those of tensor parallelism when it is async, those
// of data parallelism when parameters are gathered ahead.
OverlapOptions FindOverlap(const JobSpec& job, const Mesh& mesh, const Mapping& mapping,
                           const Roles& roles) {
  OverlapOptions overlap;
  overlap.chunks = job.tensor_parallel.chunks;
  if (job.tensor_parallel.async) {
    for (const char* const dim : {"mlp", "heads"}) {
      for (const int axis :
           mapping.Lookup(MappingKind::kCompute, dim[0] == 'm' ? "mlp" : "attention", dim).axes) {
        overlap.ring_axes.insert(axis);
        overlap.async_axes.insert(axis);
      }
    }
  }
  if (job.mesh.prefetch) overlap.async_axes.insert(roles.data_axes.begin(), roles.data_axes.end());
  return overlap;
}

// Which parts of the model each stage runs.
Status PlaceChunks(const PipelineSpec& pipeline, int64_t num_stages, CompileOptions* options) {
  ASSIGN_OR_RETURN(const OrderTraits traits, FindOrder(pipeline.order));
  options->split_weight_grad = traits.splits_weight_grad;
  const auto stages = static_cast<int32_t>(num_stages);
  const int32_t chunks = pipeline.chunks_per_stage > 0
                             ? static_cast<int32_t>(pipeline.chunks_per_stage)
                             : traits.default_chunks;
  for (int32_t stage = 0; stage < stages; ++stage) {
    std::vector<int32_t>& places = options->virtual_stages.emplace_back();
    for (int32_t chunk = 0; chunk < chunks; ++chunk) {
      places.push_back(VirtualStage(traits, stage, chunk, stages));
    }
  }
  return absl::OkStatus();
}

// Says how layers were dealt to stages.
void AddStageReason(const PipelineSpec& pipeline, Plan* plan) {
  std::map<int32_t, std::set<int32_t>> layers;  // by virtual stage
  for (const StageProgram& program : plan->programs) {
    for (const ChunkProgram& chunk : program.chunks) {
      for (const Instance& instance : chunk.forward) {
        if (instance.layer >= 0) layers[chunk.virtual_stage].insert(instance.layer);
      }
    }
  }
  if (layers.size() < 2) return;
  std::string counts;
  for (const auto& [stage, list] : layers) {
    counts += (counts.empty() ? "" : ", ") + std::to_string(list.size());
  }
  const bool given = !pipeline.layers_per_stage.empty();
  plan->reasons.push_back(
      {"LAYERS_SPLIT", "layers of each part of the pipeline: " + counts +
                           (given ? " (pipeline.layers_per_stage)"
                                  : "; the part that costs most costs least so, embedding and "
                                    "head counted by their products")});
}

// Builds the model, runs every pass and fills programs, schedules and the parts of the plan that
// sum them up.
Status Compile(const JobSpec& job, const Mapping& mapping, const Roles& roles,
               const Compilation& what, Plan* plan) {
  const bool train = what.purpose == Purpose::kTrain;
  ASSIGN_OR_RETURN(Model model, BuildModel(job.model, job.moe,
                                           {what.batch, what.position, roles.token_shards,
                                            roles.expert_token_shards, roles.expert_shards},
                                           what.purpose));
  AddExpertReasons(model, plan);
  if (train) {
    for (Graph& segment : model.segments)
      RETURN_IF_ERROR(AddBackward(segment, 1.0 / plan->run.expected_tokens));
  }
  CompileOptions options;
  options.partition = {.gather = job.mesh.gather,
                       .reduce_ici = job.mesh.reduce_ici,
                       .reduce_dcn = job.mesh.reduce_dcn,
                       .num_microbatches = plan->run.num_microbatches,
                       .keep_gathered = !job.tensor_parallel.recompute_allgather,
                       .flat_dcn = job.mesh.dcn_reduce == DcnReduce::kFlat,
                       .compress_dcn = job.compression.dcn != Compression::kNone};
  options.dcn_compression = job.compression.dcn;
  options.prefetch = job.mesh.prefetch;
  options.overlap = FindOverlap(job, plan->mesh, mapping, roles);
  if (roles.stage_axis >= 0) options.partition.stage_axes = {roles.stage_axis};
  options.optimizer = job.optimizer;
  options.remat = job.train.remat;
  options.stage_axis = roles.stage_axis;
  options.seed = job.train.seed;
  options.expected_tokens = plan->run.expected_tokens;
  options.lr_table_entries = static_cast<int64_t>(plan->run.lr_table.size());
  options.layers_per_stage = job.pipeline.layers_per_stage;
  const int64_t num_stages = roles.stage_axis >= 0 ? plan->mesh.axis(roles.stage_axis).size : 1;
  if (train) {
    ASSIGN_OR_RETURN(plan->schedules,
                     BuildSchedules(job.pipeline.order, static_cast<int32_t>(num_stages),
                                    static_cast<int32_t>(plan->run.num_microbatches),
                                    static_cast<int32_t>(job.pipeline.chunks_per_stage)));
    RETURN_IF_ERROR(PlaceChunks(job.pipeline, num_stages, &options));
    for (const StepSchedule& schedule : plan->schedules)
      options.slots.push_back(schedule.num_slots);
  } else {
    plan->schedules = {{.items = {{.phase = Phase::kForward, .microbatch = 0, .slot = 0}}}};
  }
  DimAxes axes(plan->mesh, mapping);
  ASSIGN_OR_RETURN(CompiledModel compiled, CompileSegments(model, axes, options));
  ASSIGN_OR_RETURN(plan->programs, LinkStages(compiled, plan->mesh, options));
  AddStageReason(job.pipeline, plan);
  plan->reasons.insert(plan->reasons.end(), axes.reasons().begin(), axes.reasons().end());
  return absl::OkStatus();
}

}  // namespace

StatusOr<Plan> PlanJob(const JobSpec& job, const Topology& topology) {
  Plan plan{.job_name = job.name, .op_table_hash = OpTableHash()};
  ASSIGN_OR_RETURN(const AxisShapes shapes,
                   ResolveAxisShapes(job.mesh.axes, job.mesh.dcn_axes, topology.num_devices(),
                                     topology.num_slices()));
  ASSIGN_OR_RETURN(plan.mesh, MakeMesh(shapes));
  RETURN_IF_ERROR(CheckRegions(job.mesh.mapping));
  ASSIGN_OR_RETURN(const Mapping mapping, Mapping::Create(plan.mesh, job.mesh.mapping));
  ASSIGN_OR_RETURN(const Roles roles, FindRoles(job, plan.mesh, mapping));
  plan.data_axes = roles.data_axes;
  plan.stage_axis = roles.stage_axis;
  RETURN_IF_ERROR(MakeRanks(topology, &plan));
  TrainingRun& run = plan.run;
  run.steps = job.train.steps;
  run.global_batch_size = job.train.global_batch_size;
  run.sequence_length = job.data.sequence_length;
  run.seed = job.train.seed;
  run.expected_tokens = static_cast<double>(run.global_batch_size * run.sequence_length);
  RETURN_IF_ERROR(ChooseMicrobatch(job.train, roles, &run));
  RETURN_IF_ERROR(CheckBalanceGroups(job, roles, run));
  ASSIGN_OR_RETURN(run.lr_table, LearningRateTable(job.optimizer, job.schedule, job.train.steps));
  const int64_t position = RoundUp(run.sequence_length, roles.position_multiple);
  run.zigzag_shards = roles.zigzag_shards;
  AddReasons(roles, run.sequence_length, position, job.train, &plan);
  RETURN_IF_ERROR(Compile(job, mapping, roles,
                          {Purpose::kTrain, run.microbatch_size * roles.replicas, position},
                          &plan));
  Summarize(topology.device.reserve_bytes, &plan);
  AddIdleAxes(&plan);
  RETURN_IF_ERROR(CheckFits(plan, topology.device));
  Predict(topology, job.network, &plan);
  return plan;
}

StatusOr<Plan> PlanGenerate(const JobSpec& job, int64_t sequence_length) {
  Plan plan{.job_name = job.name, .op_table_hash = OpTableHash()};
  ASSIGN_OR_RETURN(const Mapping mapping, Mapping::Create(plan.mesh, MappingConfig{}));
  ASSIGN_OR_RETURN(const DeviceKind cpu, FindDeviceKind("cpu"));
  RETURN_IF_ERROR(MakeRanks({cpu, {{"localhost", 0, 1}}}, &plan));
  plan.run.sequence_length = sequence_length;
  plan.run.global_batch_size = plan.run.microbatch_size = plan.run.num_microbatches = 1;
  RETURN_IF_ERROR(Compile(job, mapping, Roles{}, {Purpose::kGenerate, 1, sequence_length}, &plan));
  Summarize(0, &plan);
  return plan;
}

std::optional<int64_t> FixedDeviceCount(const MeshSpec& mesh) {
  AxisSizes axes = {{"data", -1}, {"replica", 1}, {"model", 1}};
  for (const auto& [name, size] : mesh.axes) {
    const auto it = std::find_if(axes.begin(), axes.end(),
                                 [&](const auto& axis) { return axis.first == name; });
    if (it != axes.end()) {
      it->second = size;
    } else {
      axes.emplace_back(name, size);
    }
  }
  int64_t product = 1;
  for (const auto& [name, size] : axes) {
    if (size < 1) return std::nullopt;
    product *= size;
  }
  for (const auto& [name, size] : mesh.dcn_axes) {
    if (size < 1) return std::nullopt;
    product *= size;
  }
  return product;
}

}  // namespace trireme
