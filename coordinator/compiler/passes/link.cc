// Lays a stage's instances over its pools: parameters once by name, activations by slot.
#include <algorithm>
#include <map>

#include "common/base/check.h"
#include "common/base/math.h"
#include "coordinator/compiler/optimizers/optimizer.h"
#include "coordinator/compiler/passes/compile.h"
#include "coordinator/compiler/passes/lower.h"

namespace trireme {
namespace {

// One logical tensor of a stage.
struct StageTensor {
  TensorPlacement placement;
  Place param, grad, reduced;
  std::vector<Place> states;
  int init_code = -1, update1_code = -1, update2_code = -1;
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

  StatusOr<StageProgram> Link(int begin, int end,
                              const std::map<std::string, std::vector<int64_t>>& owners);

 private:
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
  void PlaceEdges(int begin, int end);
  void AddInstances(int begin, int end);
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
  Place grad_edges_[2];
};

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
  scalars.control = place("control", 16 * 8);
  scalars.reduce = place("reduce", 4 * 8);
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
  UpdateInput input{segment.graph.tensors[key.tensor], segment.tensors[key.tensor], key.owners,
                    options_.stage_axis, options_.seed};
  ASSIGN_OR_RETURN(Graph graph, BuildUpdate(input, options_.optimizer, mesh_));
  graph.name = input.tensor.name + (key.owners.size() > 1 ? " (tied)" : "");
  CompiledUpdate update;
  const SegmentLayout layout = LayOutSegment(graph, mesh_);
  const auto lower = [&](Phase phase) {
    return LowerPhase(graph, mesh_, layout, phase, &compiled_.groups, &compiled_.scratch_bytes);
  };
  update.init = lower(Phase::kInit);
  update.update1 = lower(Phase::kUpdate1);
  update.update2 = lower(Phase::kUpdate2);
  for (const Value& value : graph.values) {
    if (value.kind == ValueKind::kReducedGrad) update.separate_reduced = true;
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
    if (training()) {
      tensor.grad =
          Allocate(Pool::kGrad, LocalBytes(logical.dims, shardings.accumulator, DType::kFloat32));
      const int64_t bytes = LocalBytes(logical.dims, shardings.optimizer, DType::kFloat32);
      tensor.reduced = update->separate_reduced ? Allocate(Pool::kGrad, bytes) : tensor.grad;
      ASSIGN_OR_RETURN(placement.state_names, StateNames(options_.optimizer));
      for (size_t i = 0; i < placement.state_names.size(); ++i) {
        tensor.states.push_back(Allocate(Pool::kState, bytes));
        placement.state_offsets.push_back(tensor.states.back().offset);
      }
      tensor.update1_code = CodeIndex(update->update1);
      tensor.update2_code = CodeIndex(update->update2);
    }
    placement.reduced_grad = tensor.reduced;
    tensors_.push_back(std::move(tensor));
  }
  return absl::OkStatus();
}

void StageLinker::PlaceEdges(int begin, int end) {
  edges_.resize(end - begin + 1);
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
  if (training()) {
    for (Place& place : grad_edges_) place = Allocate(Pool::kEdge, grad_bytes);
  }
  const Graph& first = compiled_.segments[link(begin).segment].graph;
  const Graph& last = compiled_.segments[link(end - 1).segment].graph;
  for (size_t k = 0; k < edges_[0].size(); ++k) {
    program_.chunks[0].edges_in.push_back({edges_[0][k], EdgeBytes(first, first.edges_in[k])});
    if (training()) {
      program_.chunks[0].grad_edges_in.push_back({grad_edges_[1], EdgeBytes(first, first.edges_in[k])});
    }
  }
  const bool model_end = end == static_cast<int>(compiled_.model->chain.size());
  for (size_t k = 0; k < edges_.back().size(); ++k) {
    const EdgePlacement edge{edges_.back()[k], EdgeBytes(last, last.edges_out[k])};
    if (model_end) {
      program_.outputs.push_back(edge);
      continue;
    }
    program_.chunks[0].edges_out.push_back(edge);
    if (training())
      program_.chunks[0].grad_edges_out.push_back({grad_edges_[(end - begin + 1) % 2], edge.bytes});
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

void StageLinker::AddInstances(int begin, int end) {
  for (int i = begin; i < end; ++i) {
    const CompiledSegment& segment = compiled_.segments[link(i).segment];
    const int at = i - begin;
    std::map<std::string, Place> places;
    for (size_t t = 0; t < segment.graph.tensors.size(); ++t) {
      const std::string name = InstanceName(segment.graph.tensors[t].name, link(i).layer);
      places.merge(TensorPlaces(std::to_string(t), tensors_[tensor_index_.at(name)]));
    }
    places["saved"] = Allocate(Pool::kSaved, segment.layout.saved_bytes);
    places["gathered"] = Allocate(Pool::kGathered, segment.layout.gathered_bytes);
    for (size_t k = 0; k < edges_[at].size(); ++k) {
      places["edge_in:" + std::to_string(k)] = edges_[at][k];
      places["grad_edge_in:" + std::to_string(k)] = grad_edges_[(at + 1) % 2];
    }
    for (size_t k = 0; k < edges_[at + 1].size(); ++k) {
      places["edge_out:" + std::to_string(k)] = edges_[at + 1][k];
      places["grad_edge_out:" + std::to_string(k)] = grad_edges_[at % 2];
    }
    const auto add = [&](const SegmentCode& code, std::vector<Instance>& list) {
      if (!code.instructions.empty()) list.push_back(MakeInstance(code, link(i).layer, places));
    };
    add(segment.gather, program_.gather);
    add(segment.forward, program_.chunks[0].forward);
    add(segment.backward, program_.chunks[0].backward);
  }
  std::reverse(program_.chunks[0].backward.begin(), program_.chunks[0].backward.end());
}

void StageLinker::AddUpdates() {
  if (training()) {
    Graph graph = BuildStepControl(mesh_, options_.optimizer, options_.expected_tokens,
                                   options_.lr_table_entries);
    const SegmentLayout layout = LayOutSegment(graph, mesh_);
    program_.update2.push_back(MakeInstance(LowerPhase(graph, mesh_, layout, Phase::kUpdate2,
                                                       &compiled_.groups, &compiled_.scratch_bytes),
                                            -1, {}));
  }
  for (const StageTensor& tensor : tensors_) {
    const std::map<std::string, Place> places = TensorPlaces("0", tensor);
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
    int begin, int end, const std::map<std::string, std::vector<int64_t>>& owners) {
  PlaceScalars();
  for (int i = begin; i < end; ++i) {
    PlaceInputs(compiled_.segments[link(i).segment].graph);
    RETURN_IF_ERROR(PlaceTensors(link(i), owners));
  }
  PlaceEdges(begin, end);
  AddInstances(begin, end);
  AddUpdates();
  used_[static_cast<int>(Pool::kScratch)] = compiled_.scratch_bytes;
  const int64_t slots = options_.slots.empty() ? 1 : options_.slots[program_.stage];
  for (int p = 0; p < kNumPools; ++p) {
    const auto pool = static_cast<Pool>(p);
    program_.pools.push_back({pool, used_[p], IsSlotted(pool) ? slots : 1});
  }
  return std::move(program_);
}

}  // namespace

StatusOr<std::vector<StageProgram>> LinkStages(CompiledModel& compiled, const Mesh& mesh,
                                               const CompileOptions& options) {
  const int64_t num_stages = options.stage_axis >= 0 ? mesh.axis(options.stage_axis).size : 1;
  ASSIGN_OR_RETURN(const auto stages,
                   SplitStages(*compiled.model, num_stages, options.layers_per_stage));
  std::map<std::string, std::vector<int64_t>> owners;  // stages that hold each tensor
  for (int64_t s = 0; s < num_stages; ++s) {
    for (int i = stages[s].first; i < stages[s].second; ++i) {
      const ChainLink& link = compiled.model->chain[i];
      for (const LogicalTensor& tensor : compiled.segments[link.segment].graph.tensors) {
        std::vector<int64_t>& list = owners[InstanceName(tensor.name, link.layer)];
        if (list.empty() || list.back() != s) list.push_back(s);
      }
    }
  }
  std::map<UpdateKey, CompiledUpdate> updates;
  std::vector<StageProgram> programs;
  for (int64_t s = 0; s < num_stages; ++s) {
    StageLinker linker(compiled, mesh, options, static_cast<int>(s), updates);
    ASSIGN_OR_RETURN(StageProgram program, linker.Link(stages[s].first, stages[s].second, owners));
    programs.push_back(std::move(program));
  }
  for (StageProgram& program : programs) program.groups = compiled.groups;
  return programs;
}

}  // namespace trireme
