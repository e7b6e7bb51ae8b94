// What a rank executes. A segment is compiled once to SegmentCode whose operands name *bindings*;
// an Instance lays the code over memory by giving each binding a place (pool, offset). All ranks of
// a stage share one StageProgram: what differs between them follows from their mesh coordinates
// through IndexMaps.
#ifndef TRIREME_COMMON_PLAN_PROGRAM_H_
#define TRIREME_COMMON_PLAN_PROGRAM_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/ir/attrs.h"
#include "common/ir/graph.h"
#include "common/mesh/mesh.h"
#include "common/sharding/sharding.h"

namespace trireme {

// Parts of a rank's arena. kInput, kSaved and kEdge have one copy for each microbatch slot.
enum class Pool : uint8_t {
  kParam,
  kState,
  kGrad,
  kInput,
  kSaved,
  kGathered,
  kScratch,
  kEdge,
  kScalars
};
inline constexpr int kNumPools = 9;
std::string_view Name(Pool pool);  // "PARAM", "STATE", ...
bool IsSlotted(Pool pool);

// base + sum over terms of coordinate[axis] * stride; where `modulus` is set, of
// ((coordinate[axis] + shift) mod modulus) * stride: the place of a block that goes around a ring.
struct IndexMap {
  int64_t base = 0;
  struct Term {
    int32_t axis = 0;
    int64_t stride = 0;
    int32_t shift = 0;    // in [0, modulus)
    int32_t modulus = 0;  // 0 = none
    bool operator==(const Term&) const = default;
  };
  std::vector<Term> terms;

  int64_t Evaluate(const std::vector<int64_t>& coordinates) const;
  bool operator==(const IndexMap&) const = default;
};

// A strided piece of a binding. Offsets, sizes and strides are in elements.
struct View {
  int32_t binding = 0;
  IndexMap offset;
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;
  DType dtype = DType::kFloat32;
  bool operator==(const View&) const = default;

  int64_t count() const;
};

// Ranks that take part in a collective: those that differ along `axes` (axes[0] slowest). `members`
// restricts the first axis to these coordinates (tied tensors: the stages that hold one); empty =
// all.
struct Group {
  std::vector<int32_t> axes;
  std::vector<int64_t> members;
  Fabric fabric = Fabric::kIci;
  bool operator==(const Group&) const = default;
};

inline constexpr std::string_view kAllReduceOp = "all_reduce";
inline constexpr std::string_view kAllGatherOp = "all_gather";
inline constexpr std::string_view kReduceScatterOp = "reduce_scatter";
inline constexpr std::string_view kAllToAllOp = "all_to_all";
// Around a ring: member i's block goes to member (i + attribute "shift") mod n. Same sizes.
inline constexpr std::string_view kPermuteOp = "permute";
bool IsCollective(std::string_view op);

// A kernel or a collective. Collectives have one dense input and one dense output (all_reduce: the
// same memory), where gathered blocks stand one after the other; attribute "kind" is "sum" or
// "max".
struct Instruction {
  std::string op;
  Attrs attrs;
  std::vector<std::pair<std::string, IndexMap>> index_attrs;  // attributes that depend on the rank
  std::vector<View> in;
  std::vector<View> out;
  bool accumulate = false;
  // Collectives: may run beside the instructions that follow it, up to the first that touches its
  // bytes (see hazards.h). All collectives of a rank start in program order.
  bool async = false;
  // Runs only where the int32 in the one view listed here is more than `above` (empty: always).
  // All members of a collective's group see the same number there.
  std::vector<View> predicate;
  int32_t above = 0;
  double flops = 0;        // of one execution; bytes follow from the views
  int32_t group = -1;      // collectives: index into StageProgram::groups
  int32_t workspace = -1;  // bytes offset in SCRATCH for the kernel's workspace, -1 = none
  std::string tensor;      // what a collective moves, for explanations
  std::string reason;      // why it is there
  bool operator==(const Instruction&) const = default;
};

struct SegmentCode {
  std::string name;  // "block.F"
  Phase phase = Phase::kForward;
  std::vector<std::string> bindings;
  std::vector<Instruction> instructions;
  bool operator==(const SegmentCode&) const = default;
};

struct Place {
  Pool pool = Pool::kScratch;
  int64_t offset = 0;  // bytes from the start of the pool (of the slot, for slotted pools)
  bool operator==(const Place&) const = default;
};

struct Instance {
  int32_t code = 0;  // index into StageProgram::codes
  int32_t layer = -1;
  std::vector<Place> places;  // one a binding
  bool operator==(const Instance&) const = default;
};

struct PoolSize {
  Pool pool = Pool::kScratch;
  int64_t bytes = 0;  // of one slot
  int64_t slots = 1;
  bool operator==(const PoolSize&) const = default;
};

// A logical tensor as this stage stores it: for initial weights, checkpoints and tests.
struct TensorPlacement {
  std::string name;
  std::vector<Dim> dims;  // with padded sizes
  Sharding param_sharding;
  Sharding optimizer_sharding;
  int64_t param_offset = 0;  // PARAM
  Place reduced_grad;  // gradient as the optimizer sees it, valid between U1 and the next step
  std::vector<int64_t>
      state_offsets;  // STATE, one an optimizer state, sharded as optimizer_sharding
  std::vector<std::string> state_names;  // "exp_avg", "exp_avg_sq"
  std::vector<int64_t> owner_members;  // stages that hold a tied tensor (the first owns it); empty
                                       // = this stage alone
  bool trained = true;  // false: no gradient and no optimizer states; a rule of its own moves it
  bool operator==(const TensorPlacement&) const = default;
};

// A data input that the worker fills before F of a microbatch: "tokens", "targets", "weights",
// "positions", "segments".
struct InputPlacement {
  std::string name;
  std::vector<Dim> dims;  // of one microbatch, whole mesh; padded sizes
  Sharding sharding;
  DType dtype = DType::kInt32;
  int64_t offset = 0;  // INPUT, within a slot
  bool operator==(const InputPlacement&) const = default;
};

// Scalar block offsets in SCALARS; element counts are in kernels/ops/step_control/layout.h.
struct ScalarPlacement {
  int64_t control = 0;
  int64_t reduce = 0;
  int64_t lr_table = 0;
  int64_t lr_table_entries = 0;
  // Sums over a step of every router of the model, on whatever stage it is: RouterStatSize(experts)
  // numbers a layer (kernels/ops/router_stats/layout.h), right after `reduce`.
  int64_t router_stats = 0;
  std::vector<int32_t> router_layers;  // in the order of their sums
  int64_t router_experts = 0;
  int64_t router_choices = 0;  // experts of a token
  double router_balance_coef = 0;  // what the loss has of each layer's balance loss
  double router_z_coef = 0;        // and of its z loss
  bool operator==(const ScalarPlacement&) const = default;
};

// An edge between stages as the sender and the receiver store it (EDGE or SAVED, within a slot).
struct EdgePlacement {
  Place place;
  int64_t bytes = 0;
  bool operator==(const EdgePlacement&) const = default;
};

// A run of consecutive links of the model's chain that a stage executes as one: a virtual stage.
// Stages have one chunk unless the pipeline order gives them several (interleaved, V-shaped).
struct ChunkProgram {
  int32_t virtual_stage = 0;  // place along the chain of all chunks of all stages
  // Instances of one phase, in execution order (backward: last segment first). weight_grad is empty
  // unless the order splits the backward.
  std::vector<Instance> forward, backward, weight_grad;
  std::vector<EdgePlacement> edges_in, edges_out, grad_edges_in, grad_edges_out;
  bool operator==(const ChunkProgram&) const = default;
};

struct StageProgram {
  int32_t stage = 0;
  std::vector<PoolSize> pools;
  std::vector<Group> groups;
  std::vector<SegmentCode> codes;
  // Instances of one phase, in execution order.
  std::vector<Instance> init, gather, update1, update2;
  std::vector<ChunkProgram> chunks = std::vector<ChunkProgram>(1);  // at least one
  std::vector<TensorPlacement> tensors;
  std::vector<InputPlacement> inputs;  // what any of the chunks reads
  ScalarPlacement scalars;
  // Purpose generate: where the logits [batch, position, vocab] of a forward are (SAVED, within a
  // slot).
  std::vector<EdgePlacement> outputs;
  bool operator==(const StageProgram&) const = default;

  // `chunk` counts for the phases of a microbatch only.
  const std::vector<Instance>& instances(Phase phase, int chunk = 0) const;
  int64_t SlotBytes(
      Pool pool) const;  // from one slot to the next: PoolSize::bytes, 64-byte aligned
  int64_t PoolBytes(Pool pool) const;   // all slots
  int64_t ArenaBytes() const;           // pools laid one after the other, each 64-byte aligned
  int64_t PoolOffset(Pool pool) const;  // in the arena

  // Readable program: pools, then each code once, then the instances. For goldens, `plan --program`
  // and bug reports.
  std::string ToText(const Mesh& mesh) const;
};

// ---- step schedules

struct Transfer {
  int32_t peer_stage = 0;  // this stage itself where two neighbouring chunks are of one stage
  bool gradient = false;   // edge activations or their gradients
  int32_t microbatch = 0;
  int32_t slot = 0;
  int32_t chunk = 0;  // of this stage, whose edge is sent or filled
  int32_t edge = 0;   // between virtual stages `edge` and `edge + 1`; the same on both sides
  bool operator==(const Transfer&) const = default;
};

enum class ItemKind : uint8_t { kRun, kExchange };

// kRun executes all instances of `phase` of a chunk for a microbatch in a slot (-1 in step phases).
// A slot holds one microbatch of one chunk from what it receives to its last use. kExchange
// moves edges between stages: all sends and receives of one moment.
struct ScheduleItem {
  ItemKind kind = ItemKind::kRun;
  Phase phase = Phase::kForward;
  int32_t microbatch = -1;
  int32_t slot = -1;
  int32_t chunk = 0;
  std::vector<Transfer> sends;
  std::vector<Transfer> receives;
  bool operator==(const ScheduleItem&) const = default;
};

struct StepSchedule {
  int32_t stage = 0;
  int32_t num_slots = 1;
  std::vector<ScheduleItem> items;
  bool operator==(const StepSchedule&) const = default;

  // Example: "G F0 >f0 <b0 B0 U1 U2"; > sends, < receives; items of one exchange are joined by "+".
  // Chunks after the first are told by letters: "F0b" is F of microbatch 0 of the second chunk.
  std::string ToText() const;
};

}  // namespace trireme

#endif  // TRIREME_COMMON_PLAN_PROGRAM_H_
