// The pass list for segments, and the split of the chain into stages.
#include "coordinator/compiler/passes/compile.h"

#include <set>

#include "coordinator/compiler/passes/fuse_accumulate.h"
#include "coordinator/compiler/passes/lower.h"
#include "coordinator/compiler/passes/rematerialize.h"

namespace trireme {

namespace {

std::set<std::string> SharedTensors(const Model& model) {
  std::set<std::string> seen;
  std::set<std::string> shared;
  for (const Graph& segment : model.segments) {
    for (const LogicalTensor& tensor : segment.tensors) {
      if (!seen.insert(tensor.name).second) shared.insert(tensor.name);
    }
  }
  return shared;
}

}  // namespace

StatusOr<CompiledModel> CompileSegments(const Model& model, DimAxes& axes,
                                        const CompileOptions& options) {
  CompiledModel compiled{.model = &model};
  std::vector<bool> is_block(model.segments.size(), false);
  for (const ChainLink& link : model.chain) {
    if (link.layer >= 0) is_block[link.segment] = true;
  }
  const Mesh& mesh = axes.mesh();
  PartitionOptions partition = options.partition;
  partition.shared_tensors = SharedTensors(model);
  for (size_t i = 0; i < model.segments.size(); ++i) {
    ASSIGN_OR_RETURN(PartitionedSegment part, Partition(model.segments[i], axes, partition));
    if (options.remat == RematPolicy::kBlock && is_block[i]) Rematerialize(part.graph);
    FuseAccumulate(part.graph);
    CompiledSegment segment{.graph = std::move(part.graph), .tensors = std::move(part.tensors)};
    segment.layout = LayOutSegment(segment.graph, mesh);
    const auto lower = [&](Phase phase) {
      return LowerPhase(segment.graph, mesh, segment.layout, phase, &compiled.groups,
                        &compiled.scratch_bytes);
    };
    segment.forward = lower(Phase::kForward);
    segment.backward = lower(Phase::kBackward);
    segment.gather = lower(Phase::kGather);
    compiled.segments.push_back(std::move(segment));
  }
  return compiled;
}

StatusOr<std::vector<std::pair<int, int>>> SplitStages(
    const Model& model, int64_t num_stages, const std::vector<int64_t>& layers_per_stage) {
  int64_t layers = 0;
  for (const ChainLink& link : model.chain) layers += link.layer >= 0 ? 1 : 0;
  std::vector<int64_t> counts = layers_per_stage;
  if (counts.empty()) {
    if (num_stages > layers) {
      return InvalidArgument("the mesh has " + std::to_string(num_stages) +
                             " stages but the model only " + std::to_string(layers) +
                             " layers; use at most " + std::to_string(layers));
    }
    for (int64_t s = 0; s < num_stages; ++s) {
      counts.push_back(layers / num_stages + (s < layers % num_stages ? 1 : 0));
    }
  }
  if (static_cast<int64_t>(counts.size()) != num_stages) {
    return InvalidArgument("pipeline.layers_per_stage has " + std::to_string(counts.size()) +
                           " entries but the mesh has " + std::to_string(num_stages) + " stages");
  }
  std::vector<std::pair<int, int>> stages;
  int at = 0;
  const int end = static_cast<int>(model.chain.size());
  for (int64_t s = 0; s < num_stages; ++s) {
    const int begin = at;
    while (at < end && model.chain[at].layer < 0) ++at;
    at += static_cast<int>(counts[s]);
    stages.emplace_back(begin, s == num_stages - 1 ? end : at);
  }
  return stages;
}

}  // namespace trireme
