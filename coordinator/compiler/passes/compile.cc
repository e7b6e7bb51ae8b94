// The pass list for segments.
#include "coordinator/compiler/passes/compile.h"

#include <algorithm>
#include <set>

#include "coordinator/compiler/passes/fuse_accumulate.h"
#include "coordinator/compiler/passes/lower.h"
#include "coordinator/compiler/passes/rematerialize.h"
#include "coordinator/compiler/passes/split_weight_grad.h"
#include "kernels/ops/router_stats/layout.h"

namespace trireme {

namespace {

// Tensors that several segments read. Blocks of several kinds have tensors of their own, under
// names that differ only by the layer.
std::set<std::string> SharedTensors(const Model& model) {
  std::set<std::string> seen;
  std::set<std::string> shared;
  for (const Graph& segment : model.segments) {
    for (const LogicalTensor& tensor : segment.tensors) {
      const bool of_layer = InstanceName(tensor.name, 0) != tensor.name;
      if (!of_layer && !seen.insert(tensor.name).second) shared.insert(tensor.name);
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
    if (options.split_weight_grad) SplitWeightGrad(part.graph);
    FuseAccumulate(part.graph);
    Overlap(part.graph, mesh, options.overlap);
    CompiledSegment segment{.graph = std::move(part.graph), .tensors = std::move(part.tensors)};
    segment.layout = LayOutSegment(segment.graph, mesh, options.prefetch);
    const auto lower = [&](Phase phase, CodePart part) {
      return LowerPhase(segment.graph, mesh, segment.layout, phase, part, &compiled.groups,
                        &compiled.scratch_bytes);
    };
    segment.forward_gather = lower(Phase::kForward, CodePart::kGathers);
    segment.backward_gather = lower(Phase::kBackward, CodePart::kGathers);
    segment.forward = lower(Phase::kForward, CodePart::kBody);
    segment.backward = lower(Phase::kBackward, CodePart::kBody);
    segment.weight_grad = lower(Phase::kWeightGrad, CodePart::kBody);
    segment.gather = lower(Phase::kGather, CodePart::kBody);
    for (const SegmentCode* code : {&segment.forward, &segment.backward, &segment.weight_grad}) {
      for (const Instruction& instruction : code->instructions) {
        if (instruction.predicate.empty()) segment.flops += instruction.flops;
      }
    }
    compiled.segments.push_back(std::move(segment));
  }
  for (const ChainLink& link : model.chain) {
    const std::vector<Contribution>& sums = model.segments[link.segment].contributions;
    const bool routes = std::any_of(
        sums.begin(), sums.end(), [](const Contribution& sum) { return sum.to == "router_stats"; });
    if (routes) compiled.router_layers.push_back(link.layer);
  }
  return compiled;
}

int64_t CompiledModel::router_stats() const {
  if (router_layers.empty()) return 0;
  return static_cast<int64_t>(router_layers.size()) * RouterStatSize(model->experts.num_experts);
}

}  // namespace trireme
