// Bounds of views are computed once a code and then checked once an instance and binding, so a long
// program costs little. All sums are of numbers bounded by kLimit, in 128 bits.
#include "common/plan/validate.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "common/base/math.h"
#include "common/sharding/sharding.h"

namespace trireme {
namespace {

using Wide = __int128;
constexpr int64_t kLimit = int64_t{1} << 46;  // bytes, elements, offsets
constexpr size_t kMaxDims = 12;

Status Bad(const std::string& where, const std::string& what) {
  return InvalidArgument(where + ": " + what + "; the program is corrupt or from another version");
}

bool IsKnown(DType dtype) { return static_cast<int>(dtype) <= static_cast<int>(DType::kInt8); }

// Bytes [begin, end) that a code touches of a binding, and the alignment it needs.
struct Extent {
  Wide begin = 0;
  Wide end = 0;
  int64_t alignment = 1;
  std::string where;  // the instruction that reaches furthest
};

Status CheckIndexMap(const IndexMap& map, const Mesh& mesh, const std::string& where) {
  if (map.base < -kLimit || map.base > kLimit || map.terms.size() > kMaxDims) {
    return Bad(where, "index map base " + std::to_string(map.base) + " is out of range");
  }
  for (const IndexMap::Term& term : map.terms) {
    if (term.axis < 0 || term.axis >= mesh.num_axes()) {
      return Bad(where, "index map names mesh axis " + std::to_string(term.axis) + " of " +
                            std::to_string(mesh.num_axes()));
    }
    if (term.stride < -kLimit || term.stride > kLimit) {
      return Bad(where, "index map stride " + std::to_string(term.stride) + " is out of range");
    }
    if (term.modulus < 0 || term.shift < 0 || (term.modulus > 0 && term.shift >= term.modulus) ||
        term.modulus > (1 << 20)) {
      return Bad(where, "index map shift " + std::to_string(term.shift) + " modulo " +
                            std::to_string(term.modulus));
    }
  }
  return absl::OkStatus();
}

Status CheckViewShape(const View& view, const std::string& where) {
  if (!IsKnown(view.dtype)) return Bad(where, "unknown element type");
  if (view.sizes.size() != view.strides.size() || view.sizes.size() > kMaxDims) {
    return Bad(where, "a view has " + std::to_string(view.sizes.size()) + " sizes and " +
                          std::to_string(view.strides.size()) + " strides");
  }
  Wide count = 1;
  for (size_t i = 0; i < view.sizes.size(); ++i) {
    const int64_t size = view.sizes[i], stride = view.strides[i];
    if (size < 0 || size > kLimit || stride < 0 || stride > kLimit) {
      return Bad(where, "a view has size " + std::to_string(size) + " with stride " +
                            std::to_string(stride));
    }
    count *= std::max<int64_t>(size, 1);
    if (count > kLimit) return Bad(where, "a view has too many elements");
  }
  return absl::OkStatus();
}

// Grows `extent` by the bytes of `view` over all ranks.
void Extend(const View& view, const Mesh& mesh, const std::string& where, Extent& extent) {
  Wide low = view.offset.base, high = view.offset.base;
  for (const IndexMap::Term& term : view.offset.terms) {
    const int64_t most = term.modulus > 0 ? term.modulus : mesh.axis(term.axis).size;
    const Wide reach = static_cast<Wide>(term.stride) * (most - 1);
    (reach < 0 ? low : high) += reach;
  }
  Wide length = 1;
  for (size_t i = 0; i < view.sizes.size(); ++i) {
    length += static_cast<Wide>(view.sizes[i] - 1) * view.strides[i];
    if (view.sizes[i] == 0) return;  // touches nothing
  }
  const int64_t bytes = SizeOf(view.dtype);
  extent.alignment = std::max(extent.alignment, bytes);
  extent.begin = std::min(extent.begin, low * bytes);
  if ((high + length) * bytes > extent.end || low < 0) {
    extent.end = std::max(extent.end, (high + length) * bytes);
    extent.where = where;
  }
}

class Validator {
 public:
  Validator(const StageProgram& program, const Mesh& mesh) : program_(program), mesh_(mesh) {}

  Status Run() {
    RETURN_IF_ERROR(CheckPools());
    for (size_t i = 0; i < program_.groups.size(); ++i) RETURN_IF_ERROR(CheckGroup(i));
    for (const SegmentCode& code : program_.codes) RETURN_IF_ERROR(CheckCode(code));
    for (Phase phase : {Phase::kInit, Phase::kGather, Phase::kUpdate1, Phase::kUpdate2}) {
      RETURN_IF_ERROR(CheckInstances(program_.instances(phase), phase));
    }
    if (program_.chunks.empty() || program_.chunks.size() > 1024) {
      return Bad("program", std::to_string(program_.chunks.size()) + " chunks");
    }
    for (const ChunkProgram& chunk : program_.chunks) {
      RETURN_IF_ERROR(CheckInstances(chunk.forward, Phase::kForward));
      RETURN_IF_ERROR(CheckInstances(chunk.backward, Phase::kBackward));
      RETURN_IF_ERROR(CheckInstances(chunk.weight_grad, Phase::kWeightGrad));
    }
    for (const TensorPlacement& tensor : program_.tensors) RETURN_IF_ERROR(CheckTensor(tensor));
    for (const InputPlacement& input : program_.inputs) {
      RETURN_IF_ERROR(CheckSharded("input " + input.name, input.dims, input.sharding, input.dtype,
                                   {Pool::kInput, input.offset}));
    }
    RETURN_IF_ERROR(CheckScalars());
    return CheckEdges();
  }

 private:
  Status CheckPools() {
    std::set<Pool> seen;
    Wide total = 0;
    for (const PoolSize& size : program_.pools) {
      if (static_cast<int>(size.pool) >= kNumPools) return Bad("pools", "unknown pool");
      const std::string where = "pool " + std::string(Name(size.pool));
      if (!seen.insert(size.pool).second) return Bad(where, "is listed twice");
      const int64_t max_slots = IsSlotted(size.pool) ? 1 << 20 : 1;
      if (size.bytes < 0 || size.bytes > kLimit || size.slots < 1 || size.slots > max_slots) {
        return Bad(where, "has " + std::to_string(size.bytes) + " bytes and " +
                              std::to_string(size.slots) + " slots");
      }
      total += static_cast<Wide>(RoundUp(size.bytes, 64)) * size.slots;
      slot_bytes_[static_cast<int>(size.pool)] = size.bytes;
    }
    if (total > kLimit) return Bad("pools", "the arena exceeds 64 TiB");
    return absl::OkStatus();
  }

  Status CheckGroup(size_t index) {
    const Group& group = program_.groups[index];
    const std::string where = "group g" + std::to_string(index);
    std::set<int32_t> axes;
    for (const int32_t axis : group.axes) {
      if (axis < 0 || axis >= mesh_.num_axes() || !axes.insert(axis).second) {
        return Bad(where, "mesh axis " + std::to_string(axis) + " is unknown or repeated");
      }
    }
    if (!group.members.empty() && group.axes.empty()) return Bad(where, "members without an axis");
    int64_t size = mesh_.GroupSize({group.axes.begin(), group.axes.end()});
    if (!group.members.empty()) {
      const int64_t first = mesh_.axis(group.axes[0]).size;
      std::set<int64_t> members(group.members.begin(), group.members.end());
      if (members.size() != group.members.size() || *members.begin() < 0 ||
          *members.rbegin() >= first) {
        return Bad(where, "members are repeated or outside [0, " + std::to_string(first) + ")");
      }
      size = size / first * static_cast<int64_t>(members.size());
    }
    group_sizes_.push_back(size);
    return absl::OkStatus();
  }

  Status CheckCode(const SegmentCode& code) {
    std::vector<Extent> extents(code.bindings.size());
    for (size_t i = 0; i < code.instructions.size(); ++i) {
      const Instruction& instruction = code.instructions[i];
      const std::string where = code.name + " #" + std::to_string(i) + " " + instruction.op;
      RETURN_IF_ERROR(CheckPredicate(instruction, where));
      for (const std::vector<View>* views :
           {&instruction.in, &instruction.out, &instruction.predicate}) {
        for (const View& view : *views) {
          if (view.binding < 0 || view.binding >= static_cast<int>(extents.size())) {
            return Bad(where, "binding " + std::to_string(view.binding) + " of " +
                                  std::to_string(extents.size()));
          }
          RETURN_IF_ERROR(CheckViewShape(view, where));
          RETURN_IF_ERROR(CheckIndexMap(view.offset, mesh_, where));
          Extend(view, mesh_, where, extents[view.binding]);
        }
      }
      for (const auto& [name, map] : instruction.index_attrs) {
        RETURN_IF_ERROR(CheckIndexMap(map, mesh_, where + " attribute " + name));
      }
      if (instruction.workspace >= 0 &&
          instruction.workspace >= slot_bytes_[static_cast<int>(Pool::kScratch)]) {
        return Bad(where, "workspace at byte " + std::to_string(instruction.workspace) +
                              " is outside SCRATCH");
      }
      RETURN_IF_ERROR(CheckCollective(instruction, where));
    }
    extents_.push_back(std::move(extents));
    return absl::OkStatus();
  }

  Status CheckPredicate(const Instruction& instruction, const std::string& where) {
    if (instruction.predicate.empty()) return absl::OkStatus();
    const View& view = instruction.predicate[0];
    if (instruction.predicate.size() > 1 || view.dtype != DType::kInt32 || view.count() != 1) {
      return Bad(where, "a predicate is one int32");
    }
    if (instruction.async) return Bad(where, "what depends on a predicate cannot run beside others");
    return absl::OkStatus();
  }

  Status CheckCollective(const Instruction& instruction, const std::string& where) {
    const bool collective = IsCollective(instruction.op);
    if (instruction.group >= static_cast<int>(group_sizes_.size()) ||
        (collective && instruction.group < 0)) {
      return Bad(where, "group " + std::to_string(instruction.group) + " of " +
                            std::to_string(group_sizes_.size()));
    }
    if (!collective) return absl::OkStatus();
    if (instruction.in.size() != 1 || instruction.out.size() != 1) {
      return Bad(where, "a collective has one input and one output");
    }
    const View& in = instruction.in[0];
    const View& out = instruction.out[0];
    const bool dense =
        in.strides == DenseStrides(in.sizes) && out.strides == DenseStrides(out.sizes);
    if (!dense || in.dtype != out.dtype) {
      return Bad(where, "operands of a collective are dense and of one type");
    }
    const Wide n = group_sizes_[instruction.group];
    const bool gather = instruction.op == kAllGatherOp;
    const bool scatter = instruction.op == kReduceScatterOp;
    if (in.count() * (gather ? n : 1) != out.count() * (scatter ? n : 1) ||
        (instruction.op == kAllToAllOp && in.count() % n != 0)) {
      return Bad(where, std::to_string(in.count()) + " elements in and " +
                            std::to_string(out.count()) + " out do not fit a group of " +
                            std::to_string(static_cast<int64_t>(n)));
    }
    return CheckReduction(instruction, where);
  }

  Status CheckReduction(const Instruction& instruction, const std::string& where) {
    if (instruction.op == kAllReduceOp &&
        (instruction.in[0].binding != instruction.out[0].binding ||
         !(instruction.in[0].offset == instruction.out[0].offset))) {
      return Bad(where, "input and output of an all_reduce are the same memory");
    }
    if (instruction.op != kAllReduceOp && instruction.op != kReduceScatterOp) {
      return absl::OkStatus();
    }
    for (const auto& [name, value] : instruction.attrs.entries()) {
      if (name != "kind") continue;
      const std::string* kind = std::get_if<std::string>(&value);
      if (kind != nullptr && (*kind == "sum" || *kind == "max")) return absl::OkStatus();
    }
    return Bad(where, "attribute kind must be \"sum\" or \"max\"");
  }

  Status CheckInstances(const std::vector<Instance>& instances, Phase phase) {
    for (const Instance& instance : instances) {
      RETURN_IF_ERROR(CheckInstance(instance, std::string(Name(phase))));
    }
    return absl::OkStatus();
  }

  Status CheckInstance(const Instance& instance, const std::string& phase) {
    if (instance.code < 0 || instance.code >= static_cast<int>(program_.codes.size())) {
      return Bad(phase, "instance of code " + std::to_string(instance.code) + " of " +
                            std::to_string(program_.codes.size()));
    }
    const SegmentCode& code = program_.codes[instance.code];
    const std::vector<Extent>& extents = extents_[instance.code];
    if (instance.places.size() != code.bindings.size()) {
      return Bad(code.name, std::to_string(instance.places.size()) + " places for " +
                                std::to_string(code.bindings.size()) + " bindings");
    }
    for (size_t i = 0; i < extents.size(); ++i) {
      const Extent& extent = extents[i];
      const std::string where = phase + " layer " + std::to_string(instance.layer) + " " +
                                (extent.where.empty() ? code.name : extent.where) + " binding " +
                                code.bindings[i];
      RETURN_IF_ERROR(
          CheckPlace(instance.places[i], extent.begin, extent.end, extent.alignment, where));
    }
    return absl::OkStatus();
  }

  Status CheckPlace(const Place& place, Wide begin, Wide end, int64_t alignment,
                    const std::string& where) {
    if (static_cast<int>(place.pool) >= kNumPools) return Bad(where, "unknown pool");
    const int64_t limit = slot_bytes_[static_cast<int>(place.pool)];
    if (place.offset < 0 || place.offset > kLimit || place.offset + begin < 0 ||
        place.offset + end > limit) {
      return Bad(where, "bytes up to " +
                            std::to_string(static_cast<int64_t>(
                                std::min<Wide>(place.offset + end, int64_t{1} << 62))) +
                            " from offset " + std::to_string(place.offset) + " leave pool " +
                            std::string(Name(place.pool)) + " of " + std::to_string(limit) +
                            " bytes");
    }
    if (place.offset % alignment != 0) {
      return Bad(where, "offset " + std::to_string(place.offset) + " is not a multiple of " +
                            std::to_string(alignment) + " bytes");
    }
    return absl::OkStatus();
  }

  Status CheckSharded(const std::string& where, const std::vector<Dim>& dims,
                      const Sharding& sharding, DType dtype, const Place& place) {
    if (!IsKnown(dtype)) return Bad(where, "unknown element type");
    Wide count = 1;
    if (dims.size() > kMaxDims) return Bad(where, "too many dims");
    for (const Dim& dim : dims) {
      if (dim.size < 1 || dim.physical() < dim.size || dim.physical() > kLimit) {
        return Bad(where, "dim " + dim.name + " has size " + std::to_string(dim.size) +
                              " padded to " + std::to_string(dim.physical()));
      }
      count *= dim.physical();
      if (count > (Wide{1} << 60)) return Bad(where, "too many elements");
    }
    RETURN_IF_ERROR(Validate(mesh_, dims, sharding, where));
    const int64_t local = Product(LocalSizes(mesh_, dims, sharding));
    return CheckPlace(place, 0, static_cast<Wide>(local) * SizeOf(dtype), SizeOf(dtype), where);
  }

  Status CheckTensor(const TensorPlacement& tensor) {
    const std::string where = "tensor " + tensor.name;
    RETURN_IF_ERROR(CheckSharded(where, tensor.dims, tensor.param_sharding, DType::kFloat32,
                                 {Pool::kParam, tensor.param_offset}));
    if (tensor.state_offsets.size() != tensor.state_names.size()) {
      return Bad(where, std::to_string(tensor.state_offsets.size()) + " states and " +
                            std::to_string(tensor.state_names.size()) + " names");
    }
    if (tensor.state_offsets.empty()) return absl::OkStatus();  // not trained
    for (const int64_t offset : tensor.state_offsets) {
      RETURN_IF_ERROR(CheckSharded(where + " state", tensor.dims, tensor.optimizer_sharding,
                                   DType::kFloat32, {Pool::kState, offset}));
    }
    return CheckSharded(where + " gradient", tensor.dims, tensor.optimizer_sharding,
                        DType::kFloat32, tensor.reduced_grad);
  }

  Status CheckScalars() {
    if (slot_bytes_[static_cast<int>(Pool::kScalars)] == 0) return absl::OkStatus();
    const ScalarPlacement& scalars = program_.scalars;
    if (scalars.lr_table_entries < 0 || scalars.lr_table_entries > kLimit) {
      return Bad("scalars", "lr_table of " + std::to_string(scalars.lr_table_entries) + " entries");
    }
    const Wide table_bytes = static_cast<Wide>(scalars.lr_table_entries) * 4;
    RETURN_IF_ERROR(CheckPlace({Pool::kScalars, scalars.control}, 0, kControlEntries * 8, 8,
                               "scalars control"));
    RETURN_IF_ERROR(
        CheckPlace({Pool::kScalars, scalars.reduce}, 0, kReduceEntries * 8, 8, "scalars reduce"));
    RETURN_IF_ERROR(
        CheckPlace({Pool::kScalars, scalars.lr_table}, 0, table_bytes, 4, "scalars lr_table"));
    return CheckRouterStats(scalars);
  }

  Status CheckRouterStats(const ScalarPlacement& scalars) {
    if (scalars.router_layers.empty()) return absl::OkStatus();
    const int64_t experts = scalars.router_experts;
    if (experts < 1 || experts > 1 << 20 || scalars.router_layers.size() > 1 << 20) {
      return Bad("scalars", std::to_string(experts) + " experts in " +
                                std::to_string(scalars.router_layers.size()) + " layers");
    }
    const Wide entries =
        static_cast<Wide>(scalars.router_layers.size()) * (kRouterScalars + 2 * experts);
    return CheckPlace({Pool::kScalars, scalars.router_stats}, 0, entries * 8, 8,
                      "scalars router_stats");
  }

  Status CheckEdges() {
    for (const ChunkProgram& chunk : program_.chunks) {
      for (const auto* edges :
           {&chunk.edges_in, &chunk.edges_out, &chunk.grad_edges_in, &chunk.grad_edges_out}) {
        RETURN_IF_ERROR(CheckEdgeList(*edges));
      }
    }
    return CheckEdgeList(program_.outputs);
  }

  Status CheckEdgeList(const std::vector<EdgePlacement>& edges) {
    for (const EdgePlacement& edge : edges) {
      if (edge.bytes < 0 || edge.bytes > kLimit) return Bad("edge", "negative or huge");
      RETURN_IF_ERROR(CheckPlace(edge.place, 0, edge.bytes, 4, "edge"));
    }
    return absl::OkStatus();
  }

  const StageProgram& program_;
  const Mesh& mesh_;
  int64_t slot_bytes_[kNumPools] = {};
  std::vector<int64_t> group_sizes_;
  std::vector<std::vector<Extent>> extents_;  // [code][binding]
};

Status CheckTransfer(const Transfer& transfer, const StepSchedule& schedule, int64_t num_stages,
                     int64_t num_chunks, int64_t num_microbatches, const std::string& where) {
  if (transfer.chunk < 0 || transfer.chunk >= num_chunks || transfer.edge < 0 ||
      transfer.edge >= num_stages * num_chunks) {
    return Bad(where, "transfer of edge " + std::to_string(transfer.edge) + " of chunk " +
                          std::to_string(transfer.chunk));
  }
  if (transfer.peer_stage < 0 || transfer.peer_stage >= num_stages) {
    return Bad(where, "peer stage " + std::to_string(transfer.peer_stage) + " of " +
                          std::to_string(num_stages));
  }
  if (transfer.slot < 0 || transfer.slot >= schedule.num_slots || transfer.microbatch < 0 ||
      transfer.microbatch >= num_microbatches) {
    return Bad(where, "transfer of microbatch " + std::to_string(transfer.microbatch) +
                          " in slot " + std::to_string(transfer.slot));
  }
  return absl::OkStatus();
}

}  // namespace

Status ValidateProgram(const StageProgram& program, const Mesh& mesh) {
  return Validator(program, mesh).Run();
}

Status ValidateSchedule(const StageProgram& program, const StepSchedule& schedule,
                        int64_t num_stages, int64_t num_microbatches) {
  if (schedule.num_slots < 1) return Bad("schedule", "no slots");
  for (const PoolSize& size : program.pools) {
    if (!IsSlotted(size.pool) || size.bytes == 0 || size.slots >= schedule.num_slots) continue;
    return Bad("schedule", "needs " + std::to_string(schedule.num_slots) + " slots but pool " +
                               std::string(Name(size.pool)) + " has " + std::to_string(size.slots));
  }
  for (size_t i = 0; i < schedule.items.size(); ++i) {
    const ScheduleItem& item = schedule.items[i];
    const std::string where = "schedule item " + std::to_string(i);
    if (item.kind == ItemKind::kRun) {
      const bool per_microbatch = item.phase == Phase::kForward || item.phase == Phase::kBackward ||
                                  item.phase == Phase::kWeightGrad;
      const int64_t low = per_microbatch ? 0 : -1;
      if (item.chunk < 0 || item.chunk >= static_cast<int64_t>(program.chunks.size())) {
        return Bad(where, "chunk " + std::to_string(item.chunk) + " of " +
                              std::to_string(program.chunks.size()));
      }
      if (item.microbatch < low || item.microbatch >= num_microbatches || item.slot < low ||
          item.slot >= schedule.num_slots) {
        return Bad(where, "microbatch " + std::to_string(item.microbatch) + " in slot " +
                              std::to_string(item.slot));
      }
    }
    for (const auto* transfers : {&item.sends, &item.receives}) {
      for (const Transfer& transfer : *transfers) {
        RETURN_IF_ERROR(CheckTransfer(transfer, schedule, num_stages,
                                      static_cast<int64_t>(program.chunks.size()), num_microbatches,
                                      where));
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace trireme
