// Model -> one StageProgram a stage: partition, remat, fuse and lower each distinct segment once,
// then lay instances of the segments end to end over the pools of each stage.
#ifndef TRIREME_COORDINATOR_COMPILER_PASSES_COMPILE_H_
#define TRIREME_COORDINATOR_COMPILER_PASSES_COMPILE_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/config/job_spec.h"
#include "common/plan/plan.h"
#include "coordinator/compiler/models/model.h"
#include "coordinator/compiler/partition/partition.h"
#include "coordinator/compiler/passes/code_builder.h"
#include "coordinator/compiler/passes/overlap.h"

namespace trireme {

struct CompileOptions {
  PartitionOptions partition;
  OptimizerSpec optimizer;
  Compression dcn_compression = Compression::kNone;
  RematPolicy remat = RematPolicy::kNone;
  int stage_axis = -1;
  int64_t seed = 0;
  double expected_tokens = 1;
  int64_t lr_table_entries = 0;           // 0: forward only, no update
  std::vector<int64_t> layers_per_stage;  // by virtual stage
  std::vector<int32_t> slots;             // in flight, by stage
  // Virtual stage of each chunk, by stage; empty: one chunk a stage.
  std::vector<std::vector<int32_t>> virtual_stages;
  bool split_weight_grad = false;  // the order runs W apart from B
  bool prefetch = false;           // parameters are gathered one segment ahead
  OverlapOptions overlap;
};

// A segment after all passes, ready to be laid out.
struct CompiledSegment {
  Graph graph;
  std::vector<TensorShardings> tensors;
  SegmentLayout layout;
  SegmentCode forward, backward, weight_grad, gather;
  // With prefetch: gathers of parameters that `forward` and `backward` read.
  SegmentCode forward_gather, backward_gather;
  double flops = 0;  // of F, B and W
};

// What the end of a step does to one tensor.
struct CompiledUpdate {
  SegmentCode init, update1, update2;
  bool separate_reduced = false;  // the reduced gradient has memory of its own
  std::vector<int64_t> errors;    // bytes of what compression keeps, after the optimizer's states
};

struct CompiledModel {
  const Model* model = nullptr;
  std::vector<CompiledSegment> segments;
  std::vector<Group> groups;
  int64_t scratch_bytes = 0;
  std::vector<int32_t> router_layers;  // layers whose segment has a router, in chain order

  int64_t router_stats() const;  // numbers that the routers of a step sum up
};

// Segments of `model` (which must outlive the result) for the rank's view of the mesh.
StatusOr<CompiledModel> CompileSegments(const Model& model, DimAxes& axes,
                                        const CompileOptions& options);

// All stages.
StatusOr<std::vector<StageProgram>> LinkStages(CompiledModel& compiled, const Mesh& mesh,
                                               const CompileOptions& options);

}  // namespace trireme

#endif  // TRIREME_COORDINATOR_COMPILER_PASSES_COMPILE_H_
