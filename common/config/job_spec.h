// A job as data: everything the user declares, validated. Parsed from YAML or JSON by parse.h,
// whose one table also generates the reference page.
#ifndef TRIREME_COMMON_CONFIG_JOB_SPEC_H_
#define TRIREME_COMMON_CONFIG_JOB_SPEC_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/mesh/axis_shapes.h"
#include "common/sharding/mapping.h"
#include "common/tensor/dtype.h"

namespace trireme {

// How rows reach the ranks that hold their experts: tokens are gathered around the expert axis and
// sums scattered back, or only the rows that are wanted travel, there and back.
enum class ExpertDispatch : uint8_t { kRing, kAllToAll };

struct MoeSpec {
  ExpertDispatch dispatch = ExpertDispatch::kRing;
  double capacity_factor = 0;  // room as a multiple of the even share; 0 = nothing is dropped
  int64_t balance_group_sequences = 1;  // sequences whose routing is judged together
  bool operator==(const MoeSpec&) const = default;
};

// Experts of a model, under whatever names its Hugging Face config has for them.
struct ExpertsSpec {
  int64_t num_experts = 0;  // 0 = a dense model
  int64_t num_experts_per_tok = 0;
  int64_t width = 0;          // inside one expert
  int64_t shared_width = 0;   // of the MLP that every token passes; 0 = none
  int64_t first_k_dense = 0;  // blocks at the beginning that have a dense MLP
  bool norm_topk_prob = true;
  double routed_scaling_factor = 1.0;
  double aux_loss_coef = 0;     // load-balancing loss; its value is the coefficient when balanced
  double z_loss_coef = 0;       // router z loss
  double bias_update_rate = 0;  // of the selection bias, a step (auxiliary-free balancing)
  bool operator==(const ExpertsSpec&) const = default;
};

struct ModelSpec {
  std::string type;  // the table of architectures is in coordinator/compiler/models
  int64_t hidden_size = 0;
  int64_t intermediate_size = 0;
  int64_t num_hidden_layers = 0;
  int64_t num_attention_heads = 0;
  int64_t num_key_value_heads = 0;  // default: num_attention_heads
  int64_t head_dim = 0;             // default: hidden_size / num_attention_heads
  int64_t vocab_size = 0;
  int64_t max_position_embeddings = 0;
  double norm_eps = 1e-5;
  double rope_theta = 10000.0;
  bool tie_word_embeddings = false;  // default true for gpt2
  double initializer_range = 0.02;   // standard deviation of the normal initialiser
  ExpertsSpec experts;
  // grug_moe
  int64_t sliding_window = 0;   // keys that a query of a short layer sees
  double qk_mult = 1.0;         // queries are multiplied by it
  int64_t gated_norm_rank = 0;  // width inside a gated norm
  bool operator==(const ModelSpec&) const = default;
};

struct DataSource {
  std::string path;
  bool operator==(const DataSource&) const = default;
};

struct DataSpec {
  std::vector<DataSource> train;
  std::string tokenizer = "bytes";
  int64_t sequence_length = 0;
  bool operator==(const DataSpec&) const = default;
};

enum class RematPolicy : uint8_t { kNone, kBlock };

struct TrainSpec {
  int64_t steps = 0;
  int64_t global_batch_size = 0;
  int64_t microbatch_size =
      0;  // sequences per data-parallel replica; 0 = all at once; clamped to batch / replicas
  int64_t seed = 0;
  RematPolicy remat = RematPolicy::kNone;
  bool operator==(const TrainSpec&) const = default;
};

struct OptimizerSpec {
  std::string type = "adamw";
  double learning_rate = 6e-4;
  double beta1 = 0.9;
  double beta2 = 0.95;
  double epsilon = 1e-8;
  double weight_decay = 0.1;
  double max_grad_norm = 1.0;  // 0 = no clipping
  bool operator==(const OptimizerSpec&) const = default;
};

// A count of steps ("2 steps", or a whole number > 1) or a fraction of all steps (0.1, "10%").
struct StepCount {
  bool is_fraction = true;
  double value = 0;
  bool operator==(const StepCount&) const = default;
};

struct ScheduleSpec {
  std::string type = "cosine";  // constant, cosine, linear, inv_sqrt, inv
  StepCount warmup{true, 0.01};
  StepCount decay{true, -1};  // < 0: all that is left after warmup
  StepCount rewarmup{true, 0};
  double min_ratio = 0.1;
  int64_t cycles = 1;
  bool operator==(const ScheduleSpec&) const = default;
};

struct PrecisionSpec {
  DType params = DType::kFloat32;
  DType compute = DType::kFloat32;
  bool operator==(const PrecisionSpec&) const = default;
};

// When a value that crosses between step and microbatch time is gathered or reduced.
enum class GatherPolicy : uint8_t { kUse, kStep };
enum class ReducePolicy : uint8_t { kMicrobatch, kStep };

// Gradients between slices: reduced inside a slice first, so that DCN carries a shard of them, or
// by one reduction over all replicas at once.
enum class DcnReduce : uint8_t { kHierarchical, kFlat };

struct MeshSpec {
  AxisSizes axes;
  AxisSizes dcn_axes;
  MappingConfig mapping;
  GatherPolicy gather = GatherPolicy::kUse;
  ReducePolicy reduce_ici = ReducePolicy::kMicrobatch;
  ReducePolicy reduce_dcn = ReducePolicy::kStep;
  DcnReduce dcn_reduce = DcnReduce::kHierarchical;
  // Gathers of split parameters are issued one block ahead (gather: use).
  bool prefetch = false;
  bool operator==(const MeshSpec&) const = default;
};

// How tensor-parallel ranks meet (Nanotron's modes). reduce_scatter: the residual stream is split
// by positions over the model axis; the parser writes that mapping.
enum class TensorParallelMode : uint8_t { kAllReduce, kReduceScatter };

struct TensorParallelSpec {
  TensorParallelMode mode = TensorParallelMode::kAllReduce;
  bool async = false;               // transfers run beside the products that need or make them
  bool recompute_allgather = true;  // gather inputs of products again in the backward
  int64_t chunks = 1;               // pieces of a block that travel on their own, when async
  bool operator==(const TensorParallelSpec&) const = default;
};

// How a query reaches the keys of other ranks when positions are split over the context axis.
enum class ContextParallelMode : uint8_t { kRing, kAllGather };

struct ContextParallelSpec {
  ContextParallelMode mode = ContextParallelMode::kRing;
  bool zigzag = true;  // rank r holds pieces r and 2n - 1 - r of 2n, so that causal work is even
  bool operator==(const ContextParallelSpec&) const = default;
};

enum class Compression : uint8_t { kNone, kBf16, kInt8 };

struct CompressionSpec {
  Compression dcn = Compression::kNone;  // of gradients between slices, with error feedback
  bool operator==(const CompressionSpec&) const = default;
};

// A limit on what one worker sends to another, to stand for a slow fabric.
struct LinkLimit {
  double mbit_per_s = 0;  // 0 = none
  double latency_ms = 0;  // added to every message
  bool operator==(const LinkLimit&) const = default;
};

struct NetworkSpec {
  LinkLimit ici;  // between workers of one slice
  LinkLimit dcn;  // between workers of two slices
  bool operator==(const NetworkSpec&) const = default;
};

// Steps whose calls are written down by every rank, as Chrome trace events.
struct TraceSpec {
  std::string path;  // folder; empty: none
  int64_t first_step = 1;
  int64_t steps = 3;
  bool operator==(const TraceSpec&) const = default;
};

// Names that pipeline.order takes; the orders themselves are in coordinator/compiler/orders.
inline constexpr std::string_view kPipelineOrders[] = {
    "gpipe",          "1f1b",          "eager_1f1b", "interleaved_1f1b",
    "zero_bubble_h1", "zero_bubble_v", "dualpipe_v"};

struct PipelineSpec {
  std::string order = "1f1b";
  int64_t chunks_per_stage = 0;  // 0: as few as the order needs
  std::vector<int64_t>
      layers_per_stage;  // empty: as even as can be, the first stages take the rest
  bool operator==(const PipelineSpec&) const = default;
};

struct CheckpointSpec {
  std::string path;   // empty: no checkpoints
  int64_t every = 0;  // steps; 0: only after the last step
  std::string load;   // a checkpoint folder to start from; empty: the newest under `path`, if any
  bool operator==(const CheckpointSpec&) const = default;
};

struct JobSpec {
  std::string name;
  ModelSpec model;
  MoeSpec moe;
  DataSpec data;
  TrainSpec train;
  OptimizerSpec optimizer;
  ScheduleSpec schedule;
  PrecisionSpec precision;
  MeshSpec mesh;
  TensorParallelSpec tensor_parallel;
  ContextParallelSpec context_parallel;
  PipelineSpec pipeline;
  CompressionSpec compression;
  NetworkSpec network;
  TraceSpec trace;
  CheckpointSpec checkpoint;
  bool operator==(const JobSpec&) const = default;
};

}  // namespace trireme

#endif  // TRIREME_COMMON_CONFIG_JOB_SPEC_H_
