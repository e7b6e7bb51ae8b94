// Binds resolved instructions to kernels and arena addresses.
#include "worker/executor/calls.h"

#include <algorithm>
#include <utility>

#include "common/base/math.h"
#include "common/plan/hazards.h"
#include "common/plan/resolve.h"
#include "kernels/ops/rule.h"

namespace trireme {
namespace {

bool IsKnownOp(std::string_view op) {
  const std::vector<const OpRule*>& rules = AllRules();
  return std::any_of(rules.begin(), rules.end(),
                     [op](const OpRule* rule) { return rule->name == op; });
}

// The same number on all members, whatever index the group has in each stage's program.
int32_t GroupId(const std::vector<int32_t>& ranks) {
  std::string text;
  for (const int32_t rank : ranks) text += std::to_string(rank) + ",";
  return static_cast<int32_t>(StableHash(text) & 0x7fffffff);
}

CallKind KindOf(const std::string& op) {
  if (op == kAllReduceOp) return CallKind::kAllReduce;
  if (op == kAllGatherOp) return CallKind::kAllGather;
  if (op == kReduceScatterOp) return CallKind::kReduceScatter;
  if (op == kAllToAllOp) return CallKind::kAllToAll;
  if (op == kPermuteOp) return CallKind::kPermute;
  return CallKind::kKernel;
}

class CallBuilder {
 public:
  CallBuilder(const RankProgram& program, int slot, int64_t rank, char* arena)
      : program_(program.program), slot_(slot), rank_(rank), arena_(arena) {}

  StatusOr<Call> Build(ResolvedInstruction instruction) {
    const Instruction& source = *instruction.source;
    Call call;
    call.kind = KindOf(source.op);
    call.attrs = std::move(instruction.attrs);
    for (const ResolvedOperand& operand : instruction.in) call.in.push_back(MakeTensor(operand));
    for (const ResolvedOperand& operand : instruction.out) call.out.push_back(MakeTensor(operand));
    call.accumulate = source.accumulate;
    for (const ResolvedOperand& operand : instruction.predicate) {
      call.predicate = MakeTensor(operand).i32();
      call.above = source.above;
    }
    if (source.workspace >= 0) {
      call.workspace =
          arena_ + ArenaOffset(program_, Place{Pool::kScratch, source.workspace}, slot_);
    }
    if (call.kind == CallKind::kKernel) {
      if (!IsKnownOp(source.op)) {
        return InvalidArgument("the program uses op '" + source.op +
                               "', which this binary does not have; run coordinator and workers "
                               "of one build");
      }
      call.kernel = FindKernels(source.op).cpu;
      if (call.kernel == nullptr && !FindRule(source.op).is_view) {
        return InvalidArgument("the program runs op '" + source.op +
                               "', which only stands for others; it was not compiled to its end");
      }
      return call;
    }
    call.group = {GroupId(instruction.group), std::move(instruction.group)};
    if (call.attrs.Has("kind") && call.attrs.GetString("kind") == "max") {
      call.reduce = ReduceKind::kMax;
    }
    call.async = source.async;
    if (call.kind == CallKind::kPermute) SetNeighbours(call);
    return call;
  }

 private:
  void SetNeighbours(Call& call) const {
    const std::vector<int32_t>& ranks = call.group.ranks;
    const auto n = static_cast<int64_t>(ranks.size());
    const int64_t shift = (call.attrs.GetInt("shift") % n + n) % n;
    const auto at = std::find(ranks.begin(), ranks.end(), static_cast<int32_t>(rank_));
    if (at == ranks.end()) return;  // told below
    const int64_t place = at - ranks.begin();
    call.to = ranks[(place + shift) % n];
    call.from = ranks[(place - shift + n) % n];
  }

  Tensor MakeTensor(const ResolvedOperand& operand) const {
    return {operand.dtype, arena_ + ArenaOffset(program_, operand, slot_), operand.sizes,
            operand.strides};
  }

  const StageProgram& program_;
  const int slot_;
  const int64_t rank_;
  char* const arena_;
};

// The same on both sides, and another for every message between two ranks in a step.
int32_t TagOf(const Transfer& transfer) {
  return (transfer.microbatch << 12 | transfer.edge) * 2 + (transfer.gradient ? 1 : 0);
}

// A transfer's edges as the rank stores them.
const std::vector<EdgePlacement>& EdgesOf(const StageProgram& program, const Transfer& transfer,
                                          bool send) {
  const ChunkProgram& chunk = program.chunks[transfer.chunk];
  if (send) return transfer.gradient ? chunk.grad_edges_in : chunk.edges_out;
  return transfer.gradient ? chunk.grad_edges_out : chunk.edges_in;
}

}  // namespace

StatusOr<std::vector<Call>> BuildCalls(const RankProgram& program, Phase phase, int chunk, int slot,
                                       int64_t rank, char* arena) {
  std::vector<ResolvedInstruction> resolved =
      Resolve(program.program, phase, chunk, program.mesh, rank);
  const std::vector<int32_t> waits = FindWaits(program.program, resolved);
  CallBuilder builder(program, slot, rank, arena);
  std::vector<Call> calls;
  size_t next = 0;
  for (const Instance& instance : program.program.instances(phase, chunk)) {
    const SegmentCode& code = program.program.codes[instance.code];
    for (size_t i = 0; i < code.instructions.size(); ++i) {
      ASSIGN_OR_RETURN(Call call, builder.Build(std::move(resolved[next])));
      call.wait = waits[next++];
      if (call.kind == CallKind::kKernel && call.kernel == nullptr) continue;  // a view
      call.code = &code;
      call.index = static_cast<int32_t>(i);
      call.layer = instance.layer;
      const std::vector<int32_t>& ranks = call.group.ranks;
      if (call.kind != CallKind::kKernel &&
          std::find(ranks.begin(), ranks.end(), static_cast<int32_t>(rank)) == ranks.end()) {
        return InvalidArgument(ToText(call) + ": rank " + std::to_string(rank) +
                               " is not in the group; the program is for another stage");
      }
      calls.push_back(std::move(call));
    }
  }
  return calls;
}

ExchangeCall BuildExchange(const RankProgram& program, const ScheduleItem& item, int64_t rank,
                           char* arena) {
  ExchangeCall call;
  const StageProgram& stage = program.program;
  auto append = [&](const std::vector<Transfer>& transfers, bool send,
                    std::vector<PeerMessage>& messages) {
    for (const Transfer& transfer : transfers) {
      std::vector<int64_t> peer = program.mesh.Coordinates(rank);
      if (program.stage_axis >= 0) peer[program.stage_axis] = transfer.peer_stage;
      for (const EdgePlacement& edge : EdgesOf(stage, transfer, send)) {
        messages.push_back({static_cast<int32_t>(program.mesh.RankOf(peer)), TagOf(transfer),
                            arena + ArenaOffset(stage, edge.place, transfer.slot), edge.bytes});
      }
    }
  };
  append(item.sends, /*send=*/true, call.sends);
  append(item.receives, /*send=*/false, call.receives);
  return call;
}

std::string ToText(const Call& call) {
  const Instruction& instruction = call.code->instructions[call.index];
  std::string text = call.code->name;
  if (call.layer >= 0) text += " layer " + std::to_string(call.layer);
  text += " #" + std::to_string(call.index) + " " + instruction.op;
  if (instruction.tensor.empty()) return text;
  std::string tensor = instruction.tensor;
  constexpr std::string_view kLayer = "{layer}";
  if (const size_t at = tensor.find(kLayer); at != std::string::npos) {
    tensor.replace(at, kLayer.size(), std::to_string(call.layer));
  }
  return text + " of " + tensor;
}

}  // namespace trireme
