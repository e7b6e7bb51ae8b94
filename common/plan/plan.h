// Everything decided about a job before it runs: mesh, ranks, shardings, programs, schedules,
// memory, and the reasons.
#ifndef TRIREME_COMMON_PLAN_PLAN_H_
#define TRIREME_COMMON_PLAN_PLAN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "common/mesh/mesh.h"
#include "common/plan/program.h"

namespace trireme {

struct RankPlacement {
  int64_t rank = 0;
  std::string host;
  int32_t device = 0;
  std::vector<int64_t> coordinates;  // by mesh axis
  int32_t stage = 0;
};

struct ParameterPlan {
  std::string name;
  std::vector<int64_t> shape;
  std::string spec;  // sharding as stored, for example "[vocab/model, embed/data]"
  std::vector<int64_t> local_shape;
  int64_t slices = 1;  // distinct shards
  int32_t stage = 0;
};

// Bytes of one rank; the same for all ranks of a stage.
struct MemoryPlan {
  int64_t params = 0;
  int64_t grads = 0;
  int64_t optimizer = 0;
  int64_t activations = 0;  // inputs, saved values, edges, gathered copies, scratch
  int64_t total = 0;        // the arena: what the rank allocates
  int64_t reserve = 0;      // device context, communicator buffers, library workspace
};

// One kind of collective of one stage, per rank.
struct CollectivePlan {
  std::string op;
  std::vector<std::string> axes;
  Fabric fabric = Fabric::kIci;
  int64_t bytes_per_step = 0;
  int64_t count_per_step = 0;
  std::string tensor;
  std::string reason;
  int32_t stage = 0;
  // Predicted, of a rank and step: beside computation, and while the rank stands still for it.
  double hidden_s = 0;
  double exposed_s = 0;
  int32_t group = -1;  // index into the stage's groups; -1 = between stages
};

// Predicted seconds of one rank of a stage in a step: all of the step is one of compute, exposed
// collectives, sends (messages between stages that travel) and waits (for other stages).
struct StagePrediction {
  double compute_s = 0;
  double exposed_s = 0;
  double hidden_s = 0;  // collectives beside computation: part of compute_s
  double sends_s = 0;
  double waits_s = 0;
  double busy_s() const { return compute_s + exposed_s; }
};

struct PhaseTime {
  int32_t stage = 0;
  Phase phase = Phase::kForward;
  int32_t chunk = 0;
  double seconds = 0;  // of one execution
};

// Of one message between stages, or from chunk to chunk where both are the same.
struct TransferTime {
  int32_t from_stage = 0;
  int32_t to_stage = 0;
  bool gradient = false;
  double seconds = 0;
};

// What a step should take; coordinator/planner/predict.h makes it from the program that runs.
struct Prediction {
  double step_s = 0;  // 0 = not predicted
  double bubble = 0;  // part of all stages' time in which they do not run
  std::vector<StagePrediction> stages;
  std::vector<PhaseTime> phases;
  std::vector<TransferTime> transfers;
  std::string source;  // of the speeds it was made with: "uncalibrated"
};

// What a decision was and why; for `plan --explain`.
struct Reason {
  std::string code;  // "KV_HEADS_WHOLE", "VOCAB_PADDED", ...
  std::string text;
};

struct TrainingRun {
  int64_t steps = 0;
  int64_t global_batch_size = 0;
  int64_t microbatch_size = 0;  // sequences per replica
  int64_t num_microbatches = 0;
  int64_t sequence_length = 0;  // logical
  int64_t zigzag_shards = 1;    // > 1: positions lie in the order of position_order.h
  int64_t seed = 0;
  double expected_tokens = 0;
  std::vector<float> lr_table;
};

struct Plan {
  std::string job_name;
  uint64_t op_table_hash = 0;
  Mesh mesh;
  int stage_axis = -1;         // mesh axis that `layers` maps to, -1 = none
  std::vector<int> data_axes;  // mesh axes that `batch` maps to, major to minor
  std::vector<RankPlacement> ranks;
  std::vector<StageProgram> programs;   // one a stage
  std::vector<StepSchedule> schedules;  // one a stage
  TrainingRun run;
  std::vector<ParameterPlan> parameters;
  std::vector<MemoryPlan> memory;  // one a stage
  std::vector<CollectivePlan> collectives;
  std::vector<Reason> reasons;
  Prediction prediction;

  int64_t num_stages() const { return static_cast<int64_t>(programs.size()); }
};

}  // namespace trireme

#endif  // TRIREME_COMMON_PLAN_PLAN_H_
