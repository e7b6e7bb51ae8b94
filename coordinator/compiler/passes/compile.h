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

namespace trireme {

struct CompileOptions {
  PartitionOptions partition;
  OptimizerSpec optimizer;
  RematPolicy remat = RematPolicy::kNone;
  int stage_axis = -1;
  int64_t seed = 0;
  double expected_tokens = 1;
  int64_t lr_table_entries = 0;  // 0: forward only, no update
  std::vector<int64_t> layers_per_stage;
  std::vector<int32_t> slots;  // microbatches in flight, by stage
};

// A segment after all passes, ready to be laid out.
struct CompiledSegment {
  Graph graph;
  std::vector<TensorShardings> tensors;
  SegmentLayout layout;
  SegmentCode forward, backward, gather;
};

// What the end of a step does to one tensor.
struct CompiledUpdate {
  SegmentCode init, update1, update2;
  bool separate_reduced = false;  // the reduced gradient has memory of its own
};

struct CompiledModel {
  const Model* model = nullptr;
  std::vector<CompiledSegment> segments;
  std::vector<Group> groups;
  int64_t scratch_bytes = 0;
};

// Segments of `model` (which must outlive the result) for the rank's view of the mesh.
StatusOr<CompiledModel> CompileSegments(const Model& model, DimAxes& axes,
                                        const CompileOptions& options);

// First and one past the last chain link of each stage.
StatusOr<std::vector<std::pair<int, int>>> SplitStages(
    const Model& model, int64_t num_stages, const std::vector<int64_t>& layers_per_stage);

// All stages.
StatusOr<std::vector<StageProgram>> LinkStages(CompiledModel& compiled, const Mesh& mesh,
                                               const CompileOptions& options);

}  // namespace trireme

#endif  // TRIREME_COORDINATOR_COMPILER_PASSES_COMPILE_H_
