// Lays a stage's instances over its pools: parameters once by name, activations by slot.
#include <algorithm>
#include <map>
#include <optional>

#include "common/base/check.h"
#include "common/base/math.h"
#include "coordinator/compiler/optimizers/optimizer.h"
#include "coordinator/compiler/passes/compile.h"
#include "coordinator/compiler/passes/compress.h"
#include "coordinator/compiler/passes/lower.h"
#include "coordinator/compiler/passes/split_stages.h"
#include "kernels/ops/router_stats/layout.h"
#include "kernels/ops/step_control/layout.h"

namespace trireme {
namespace {

// One logical tensor of a stage.
struct StageTensor {
  TensorPlacement placement;
  Place param, grad, reduced;
  std::vector<Place> states;
  int init_code = -1, update1_code = -1, update2_code = -1;
  int layer = -1;  // whose router's loads move it
};

// Update codes are compiled once for each kind of tensor.
struct UpdateKey {
  int segment;
  int tensor;
  std::vector<int64_t> owners;
  auto operator<=>(const UpdateKey&) const = default;
};

class StageLinker {
 public:
  StageLinker(CompiledModel& compiled, const Mesh& mesh, const CompileOptions& options, int stage,
              std::map<UpdateKey, CompiledUpdate>& updates)
      : compiled_(compiled), mesh_(mesh), options_(options), updates_(updates) {
    program_.stage = stage;
  }

  // `chunks`: first and one past the last chain link of each.
  StatusOr<StageProgram> Link(const std::vector<std::pair<int, int>>& chunks,
                              const std::map<std::string, std::vector<int64_t>>& owners);

 private:
  // Where a router's sums of the step are, for layers that have one.
  std::optional<Place> RouterStats(int layer) const;
  bool training() const { return options_.lr_table_entries > 0; }
  const ChainLink& link(int i) const { return compiled_.model->chain[i]; }
  Place Allocate(Pool pool, int64_t bytes);
  int64_t LocalBytes(const std::vector<Dim>& dims, const Sharding& sharding, DType dtype) const;
  int64_t EdgeBytes(const Graph& graph, int value) const;
  int CodeIndex(const SegmentCode& code);
  void PlaceScalars();
  void PlaceInputs(const Graph& graph);
  Status PlaceTensors(const ChainLink& link,
                      const std::map<std::string, std::vector<int64_t>>& owners);
  StatusOr<const CompiledUpdate*> UpdateFor(const UpdateKey& key, const CompiledSegment& segment);
  void PlacePrefetch(const std::vector<std::pair<int, int>>& chunks);
  void PlaceEdges(int begin, int end, ChunkProgram& chunk);
  Place GradEdge(int boundary) const { return grad_edges_[boundary % grad_edges_.size()]; }
  std::map<std::string, Place> LinkPlaces(int i, int begin);
  void AddChunk(int begin, int end, ChunkProgram& chunk);
  void AddUpdates();
  Instance MakeInstance(const SegmentCode& code, int layer,
                        const std::map<std::string, Place>& places);
  std::map<std::string, Place> TensorPlaces(const std::string& index,
                                            const StageTensor& tensor) const;

  CompiledModel& compiled_;
  const Mesh& mesh_;
  const CompileOptions& options_;
  std::map<UpdateKey, CompiledUpdate>& updates_;
  StageProgram program_;
  int64_t used_[kNumPools] = {};
  std::map<std::string, int> code_index_;
  std::vector<StageTensor> tensors_;
  std::map<std::string, int> tensor_index_;
  std::map<std::string, Place> shared_places_;  // scratch, scalars, inputs
  std::vector<std::vector<Place>> edges_;       // edges_[i]: between link begin+i-1 and begin+i
  // Gradients of the boundaries of a chunk in turn: two, or one each where W reads them later.
  std::vector<Place> grad_edges_;
  Place prefetch_[2];  // for links of even and odd number
};

std::optional<Place> StageLinker::RouterStats(int layer) const {
  const std::vector<int32_t>& layers = compiled_.router_layers;
  const auto at = std::find(layers.begin(), layers.end(), layer);
  if (layer < 0 || at == layers.end()) return std::nullopt;
  const int64_t bytes = RouterStatSize(compiled_.model->experts.num_experts) * 8;
  return Place{Pool::kScalars, program_.scalars.router_stats + (at - layers.begin()) * bytes};
}

Place StageLinker::Allocate(Pool pool, int64_t bytes) {
  int64_t& used = used_[static_cast<int>(pool)];
  const Place place{pool, used};
  used += RoundUp(bytes, kAlignment);
  return place;
}

int64_t StageLinker::LocalBytes(const std::vector<Dim>& dims, const Sharding& sharding,
                                DType dtype) const {
  return Product(LocalSizes(mesh_, dims, sharding)) * SizeOf(dtype);
}

int64_t StageLinker::EdgeBytes(const Graph& graph, int value) const {
  const Value& v = graph.value(value);
  return LocalBytes(v.dims, v.sharding, v.dtype);
}

int StageLinker::CodeIndex(const SegmentCode& code) {
  const auto [it, added] = code_index_.emplace(code.name, static_cast<int>(program_.codes.size()));
  if (added) program_.codes.push_back(code);
  return it->second;
}

void StageLinker::PlaceScalars() {
  ScalarPlacement& scalars = program_.scalars;
  const auto place = [this](const std::string& name, int64_t bytes) {
    shared_places_[name] = Allocate(Pool::kScalars, bytes);
    return shared_places_[name].offset;
  };
  scalars.control = place("control", kControlSize * 8);
  scalars.reduce = place("reduce", (kReduceSize + compiled_.router_stats()) * 8);
  scalars.router_stats = scalars.reduce + kReduceSize * 8;
  scalars.router_layers = compiled_.router_layers;
  if (!scalars.router_layers.empty()) {
    const ExpertsSpec& experts = compiled_.model->experts;
    scalars.router_experts = experts.num_experts;
    scalars.router_choices = experts.num_experts_per_tok;
    scalars.router_balance_coef = experts.aux_loss_coef;
    scalars.router_z_coef = experts.z_loss_coef;
  }
  scalars.lr_table_entries = options_.lr_table_entries;
  scalars.lr_table = place("lr_table", std::max<int64_t>(1, options_.lr_table_entries) * 4);
  shared_places_["scratch"] = {Pool::kScratch, 0};
}

void StageLinker::PlaceInputs(const Graph& graph) {
  for (const Value& value : graph.values) {
    if (value.kind != ValueKind::kInput || shared_places_.count("input:" + value.name) > 0)
      continue;
    const Place place = Allocate(Pool::kInput, LocalBytes(value.dims, value.sharding, value.dtype));
    shared_places_["input:" + value.name] = place;
    program_.inputs.push_back({value.name, value.dims, value.sharding, value.dtype, place.offset});
  }
}

StatusOr<const CompiledUpdate*> StageLinker::UpdateFor(const UpdateKey& key,
                                                       const CompiledSegment& segment) {
  const auto it = updates_.find(key);
  if (it != updates_.end()) return &it->second;
  UpdateInput input{segment.graph.tensors[key.tensor],
                    segment.tensors[key.tensor],
                    key.owners,
                    options_.stage_axis,
                    options_.seed,
                    options_.partition.flat_dcn};
  ASSIGN_OR_RETURN(Graph graph, BuildUpdate(input, options_.optimizer, mesh_));
  graph.name = input.tensor.name + (key.owners.size() > 1 ? " (tied)" : "");
  ASSIGN_OR_RETURN(const std::vector<std::string> states, StateNames(options_.optimizer));
  const auto num_states = static_cast<int>(states.size());
  Compress(graph, mesh_, options_.dcn_compression, num_states);
  CompiledUpdate update;
  const SegmentLayout layout = LayOutSegment(graph, mesh_);
  const auto lower = [&](Phase phase) {
    return LowerPhase(graph, mesh_, layout, phase, CodePart::kBody, &compiled_.groups,
                      &compiled_.scratch_bytes);
  };
  update.init = lower(Phase::kInit);
  update.update1 = lower(Phase::kUpdate1);
  update.update2 = lower(Phase::kUpdate2);
  for (const Value& value : graph.values) {
    if (value.kind == ValueKind::kReducedGrad) update.separate_reduced = true;
    if (value.kind == ValueKind::kState && value.slot >= num_states) {
      update.errors.push_back(LocalBytes(value.dims, value.sharding, value.dtype));
    }
  }
  return &(updates_[key] = std::move(update));
}

Status StageLinker::PlaceTensors(const ChainLink& link,
                                 const std::map<std::string, std::vector<int64_t>>& owners) {
  const CompiledSegment& segment = compiled_.segments[link.segment];
  for (size_t t = 0; t < segment.graph.tensors.size(); ++t) {
    const LogicalTensor& logical = segment.graph.tensors[t];
    const TensorShardings& shardings = segment.tensors[t];
    const std::string name = InstanceName(logical.name, link.layer);
    const auto [it, added] = tensor_index_.emplace(name, static_cast<int>(tensors_.size()));
    if (!added) continue;
    StageTensor tensor;
    TensorPlacement& placement = tensor.placement;
    placement = {.name = name,
                 .dims = logical.dims,
                 .param_sharding = shardings.param,
                 .optimizer_sharding = shardings.optimizer};
    tensor.param = Allocate(Pool::kParam, LocalBytes(logical.dims, shardings.param, logical.dtype));
    placement.param_offset = tensor.param.offset;
    const auto owner = owners.find(name);
    if (owner != owners.end() && owner->second.size() > 1) placement.owner_members = owner->second;
    ASSIGN_OR_RETURN(
        const CompiledUpdate* update,
        UpdateFor({link.segment, static_cast<int>(t), placement.owner_members}, segment));
    SegmentCode init = update->init;
    init.name = "init " + name;
    init.instructions[0].attrs.Set("stream", static_cast<int64_t>(StableHash(name) >> 1));
    tensor.init_code = CodeIndex(init);
    placement.trained = logical.balance_rule.empty();
    if (!training()) {
      // Nothing moves it.
    } else if (!placement.trained) {
      tensor.update2_code = CodeIndex(update->update2);
      tensor.layer = link.layer;
    } else {
      tensor.grad =
          Allocate(Pool::kGrad, LocalBytes(logical.dims, shardings.accumulator, DType::kFloat32));
      const int64_t bytes = LocalBytes(logical.dims, shardings.optimizer, DType::kFloat32);
      tensor.reduced = update->separate_reduced ? Allocate(Pool::kGrad, bytes) : tensor.grad;
      ASSIGN_OR_RETURN(placement.state_names, StateNames(options_.optimizer));
      for (size_t i = 0; i < placement.state_names.size(); ++i) {
        tensor.states.push_back(Allocate(Pool::kState, bytes));
        placement.state_offsets.push_back(tensor.states.back().offset);
      }
      for (const int64_t error : update->errors) {
        tensor.states.push_back(Allocate(Pool::kState, error));
      }
      tensor.update1_code = CodeIndex(update->update1);
      tensor.update2_code = CodeIndex(update->update2);
    }
    placement.reduced_grad = tensor.reduced;
    tensors_.push_back(std::move(tensor));
  }
  return absl::OkStatus();
}

void StageLinker::PlacePrefetch(const std::vector<std::pair<int, int>>& chunks) {
  int64_t bytes = 0;
  for (const auto& [begin, end] : chunks) {
    for (int i = begin; i < end; ++i) {
      bytes = std::max(bytes, compiled_.segments[link(i).segment].layout.prefetch_bytes);
    }
  }
  for (Place& place : prefetch_) place = Allocate(Pool::kGathered, bytes);
}

void StageLinker::PlaceEdges(int begin, int end, ChunkProgram& chunk) {
  edges_.assign(end - begin + 1, {});
  int64_t grad_bytes = 0;
  for (int i = begin; i < end; ++i) {
    const Graph& graph = compiled_.segments[link(i).segment].graph;
    if (i == begin) {
      for (const int id : graph.edges_in)
        edges_[0].push_back(Allocate(Pool::kEdge, EdgeBytes(graph, id)));
    }
    for (const int id : graph.edges_out) {
      edges_[i - begin + 1].push_back(Allocate(Pool::kEdge, EdgeBytes(graph, id)));
    }
    for (const int id : graph.grad_edges_in)
      grad_bytes = std::max(grad_bytes, EdgeBytes(graph, id));
    for (const int id : graph.grad_edges_out)
      grad_bytes = std::max(grad_bytes, EdgeBytes(graph, id));
  }
  const int boundaries = options_.split_weight_grad ? end - begin + 1 : 2;
  grad_edges_.assign(boundaries, {});
  if (training()) {
    for (Place& place : grad_edges_) place = Allocate(Pool::kEdge, grad_bytes);
  }
  const Graph& first = compiled_.segments[link(begin).segment].graph;
  const Graph& last = compiled_.segments[link(end - 1).segment].graph;
  for (size_t k = 0; k < edges_[0].size(); ++k) {
    chunk.edges_in.push_back({edges_[0][k], EdgeBytes(first, first.edges_in[k])});
    if (training()) {
      chunk.grad_edges_in.push_back({GradEdge(0), EdgeBytes(first, first.edges_in[k])});
    }
  }
  const bool model_end = end == static_cast<int>(compiled_.model->chain.size());
  for (size_t k = 0; k < edges_.back().size(); ++k) {
    const EdgePlacement edge{edges_.back()[k], EdgeBytes(last, last.edges_out[k])};
    if (model_end) {
      program_.outputs.push_back(edge);
      continue;
    }
    chunk.edges_out.push_back(edge);
    if (training()) chunk.grad_edges_out.push_back({GradEdge(end - begin), edge.bytes});
  }
}

std::map<std::string, Place> StageLinker::TensorPlaces(const std::string& index,
                                                       const StageTensor& tensor) const {
  std::map<std::string, Place> places = {{"param:" + index, tensor.param},
                                         {"grad:" + index, tensor.grad},
                                         {"reduced:" + index, tensor.reduced}};
  for (size_t i = 0; i < tensor.states.size(); ++i) {
    places["state:" + index + ":" + std::to_string(i)] = tensor.states[i];
  }
  return places;
}

Instance StageLinker::MakeInstance(const SegmentCode& code, int layer,
                                   const std::map<std::string, Place>& places) {
  Instance instance{.code = CodeIndex(code), .layer = layer};
  for (const std::string& binding : code.bindings) {
    auto it = places.find(binding);
    if (it == places.end()) {
      it = shared_places_.find(binding);
      CHECK(it != shared_places_.end()) << code.name << " has no place for " << binding;
    }
    instance.places.push_back(it->second);
  }
  return instance;
}

// Where the bindings of link `i` are, in the chunk that begins at `begin`.
std::map<std::string, Place> StageLinker::LinkPlaces(int i, int begin) {
  const CompiledSegment& segment = compiled_.segments[link(i).segment];
  const int at = i - begin;
  std::map<std::string, Place> places;
  for (size_t t = 0; t < segment.graph.tensors.size(); ++t) {
    const std::string name = InstanceName(segment.graph.tensors[t].name, link(i).layer);
    places.merge(TensorPlaces(std::to_string(t), tensors_[tensor_index_.at(name)]));
  }
  if (const auto stats = RouterStats(link(i).layer)) places["router_stats"] = *stats;
  places["saved"] = Allocate(Pool::kSaved, segment.layout.saved_bytes);
  places["gathered"] = Allocate(Pool::kGathered, segment.layout.gathered_bytes);
  places["prefetch"] = prefetch_[i % 2];
  for (size_t k = 0; k < edges_[at].size(); ++k) {
    places["edge_in:" + std::to_string(k)] = edges_[at][k];
    places["grad_edge_in:" + std::to_string(k)] = GradEdge(at);
  }
  for (size_t k = 0; k < edges_[at + 1].size(); ++k) {
    places["edge_out:" + std::to_string(k)] = edges_[at + 1][k];
    places["grad_edge_out:" + std::to_string(k)] = GradEdge(at + 1);
  }
  return places;
}

// Bodies in chain order (backward: against it), each after the gathers of the one that follows it.
void StageLinker::AddChunk(int begin, int end, ChunkProgram& chunk) {
  std::vector<std::map<std::string, Place>> places;
  for (int i = begin; i < end; ++i) places.push_back(LinkPlaces(i, begin));
  const auto add = [&](int i, SegmentCode CompiledSegment::*code, std::vector<Instance>& list) {
    if (i < begin || i >= end) return;
    const SegmentCode& lowered = compiled_.segments[link(i).segment].*code;
    if (lowered.instructions.empty()) return;
    list.push_back(MakeInstance(lowered, link(i).layer, places[i - begin]));
  };
  add(begin, &CompiledSegment::forward_gather, chunk.forward);
  for (int i = begin; i < end; ++i) {
    add(i, &CompiledSegment::gather, program_.gather);
    add(i + 1, &CompiledSegment::forward_gather, chunk.forward);
    add(i, &CompiledSegment::forward, chunk.forward);
  }
  add(end - 1, &CompiledSegment::backward_gather, chunk.backward);
  for (int i = end - 1; i >= begin; --i) {
    add(i - 1, &CompiledSegment::backward_gather, chunk.backward);
    add(i, &CompiledSegment::backward, chunk.backward);
    add(i, &CompiledSegment::weight_grad, chunk.weight_grad);
  }
}

void StageLinker::AddUpdates() {
  if (training()) {
    Graph graph = BuildStepControl(mesh_, options_.optimizer, options_.expected_tokens,
                                   options_.lr_table_entries, compiled_.router_stats());
    const SegmentLayout layout = LayOutSegment(graph, mesh_);
    const SegmentCode code = LowerPhase(graph, mesh_, layout, Phase::kUpdate2, CodePart::kBody,
                                        &compiled_.groups, &compiled_.scratch_bytes);
    program_.update2.push_back(MakeInstance(code, -1, {}));
  }
  for (const StageTensor& tensor : tensors_) {
    std::map<std::string, Place> places = TensorPlaces("0", tensor);
    if (const auto stats = RouterStats(tensor.layer)) places["router_stats"] = *stats;
    const auto add = [&](int code, std::vector<Instance>& list) {
      if (code >= 0) list.push_back(MakeInstance(SegmentCode(program_.codes[code]), -1, places));
    };
    add(tensor.init_code, program_.init);
    add(tensor.update1_code, program_.update1);
    add(tensor.update2_code, program_.update2);
    program_.tensors.push_back(tensor.placement);
  }
}

StatusOr<StageProgram> StageLinker::Link(
    const std::vector<std::pair<int, int>>& chunks,
    const std::map<std::string, std::vector<int64_t>>& owners) {
  PlaceScalars();
  for (const auto& [begin, end] : chunks) {
    for (int i = begin; i < end; ++i) {
      PlaceInputs(compiled_.segments[link(i).segment].graph);
      RETURN_IF_ERROR(PlaceTensors(link(i), owners));
    }
  }
  PlacePrefetch(chunks);
  int64_t& saved = used_[static_cast<int>(Pool::kSaved)];
  int64_t& edge = used_[static_cast<int>(Pool::kEdge)];
  int64_t most_saved = 0;
  int64_t most_edge = 0;
  program_.chunks.clear();
  for (const auto& [begin, end] : chunks) {  // a slot holds one chunk: they lie over each other
    saved = edge = 0;
    ChunkProgram chunk;
    if (!options_.virtual_stages.empty()) {
      chunk.virtual_stage = options_.virtual_stages[program_.stage][program_.chunks.size()];
    } else {
      chunk.virtual_stage = program_.stage;
    }
    PlaceEdges(begin, end, chunk);
    AddChunk(begin, end, chunk);
    most_saved = std::max(most_saved, saved);
    most_edge = std::max(most_edge, edge);
    program_.chunks.push_back(std::move(chunk));
  }
  saved = most_saved;
  edge = most_edge;
  AddUpdates();
  used_[static_cast<int>(Pool::kScratch)] = compiled_.scratch_bytes;
  const int64_t slots = options_.slots.empty() ? 1 : options_.slots[program_.stage];
  for (int p = 0; p < kNumPools; ++p) {
    const auto pool = static_cast<Pool>(p);
    program_.pools.push_back({pool, used_[p], IsSlotted(pool) ? slots : 1});
  }
  return std::move(program_);
}

// Stages that hold each tensor, in order.
std::map<std::string, std::vector<int64_t>> FindOwners(
    const CompiledModel& compiled, const std::vector<std::vector<std::pair<int, int>>>& stages) {
  std::map<std::string, std::vector<int64_t>> owners;
  for (size_t s = 0; s < stages.size(); ++s) {
    for (const auto& [begin, end] : stages[s]) {
      for (int i = begin; i < end; ++i) {
        const ChainLink& link = compiled.model->chain[i];
        for (const LogicalTensor& tensor : compiled.segments[link.segment].graph.tensors) {
          std::vector<int64_t>& list = owners[InstanceName(tensor.name, link.layer)];
          const auto stage = static_cast<int64_t>(s);
          if (list.empty() || list.back() != stage) list.push_back(stage);
        }
      }
    }
  }
  return owners;
}

}  // namespace

StatusOr<std::vector<StageProgram>> LinkStages(CompiledModel& compiled, const Mesh& mesh,
                                               const CompileOptions& options) {
  const int64_t num_stages = options.stage_axis >= 0 ? mesh.axis(options.stage_axis).size : 1;
  std::vector<std::vector<int32_t>> virtual_stages = options.virtual_stages;
  for (int32_t s = 0; virtual_stages.size() < static_cast<size_t>(num_stages); ++s) {
    virtual_stages.push_back({s});
  }
  const auto num_chunks = static_cast<int64_t>(virtual_stages[0].size());
  std::vector<double> costs;
  for (const CompiledSegment& segment : compiled.segments) costs.push_back(segment.flops);
  ASSIGN_OR_RETURN(const auto split, SplitStages(*compiled.model, num_stages * num_chunks,
                                                 options.layers_per_stage, costs));
  std::vector<std::vector<std::pair<int, int>>> stages(num_stages);
  for (int64_t s = 0; s < num_stages; ++s) {
    for (const int32_t v : virtual_stages[s]) stages[s].push_back(split[v]);
  }
  const auto owners = FindOwners(compiled, stages);
  std::map<UpdateKey, CompiledUpdate> updates;
  std::vector<StageProgram> programs;
  for (int64_t s = 0; s < num_stages; ++s) {
    StageLinker linker(compiled, mesh, options, static_cast<int>(s), updates);
    ASSIGN_OR_RETURN(StageProgram program, linker.Link(stages[s], owners));
    programs.push_back(std::move(program));
  }
  for (StageProgram& program : programs) program.groups = compiled.groups;
  return programs;
}

}  // namespace trireme
