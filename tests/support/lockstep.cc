// Ranks as state machines that advance in turn.
#include "tests/support/lockstep.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>

#include "common/base/check.h"
#include "common/base/math.h"
#include "common/plan/hazards.h"
#include "common/plan/position_order.h"
#include "common/plan/validate.h"
#include "kernels/ops/kernel.h"
#include "kernels/ops/router_stats/layout.h"
#include "kernels/ops/step_control/layout.h"
#include "tests/support/collectives.h"

namespace trireme {

struct Lockstep::Rank {
  int64_t rank = 0;
  const StageProgram* program = nullptr;
  const StepSchedule* schedule = nullptr;
  std::vector<int64_t> coordinates;
  std::vector<std::byte> arena;
  struct Code {
    std::vector<ResolvedInstruction> instructions;
    std::vector<int32_t> waits;
  };
  std::map<std::pair<Phase, int>, Code> code;  // by phase and chunk
  size_t at = 0;                               // next op
  // Async collectives that have started: the oldest first.
  std::deque<const Op*> flying;
  int64_t started = 0;  // of the running item
  int64_t finished = 0;

  const Code& CodeOf(Phase phase, int chunk) { return code.at({phase, chunk}); }

  // Whether the predicate of what stands next says no.
  bool Skips(const Op& op);

  std::byte* Address(const ResolvedOperand& operand, int slot) {
    return arena.data() + ArenaOffset(*program, operand, std::max(slot, 0));
  }
};

// Something a rank does: fill inputs, run an instruction, or take part in an exchange.
struct Lockstep::Op {
  const ResolvedInstruction* instruction = nullptr;
  const ScheduleItem* item = nullptr;  // exchange, or the run whose inputs are filled
  int32_t slot = 0;
  int32_t wait = 0;                  // async collectives of the item that must be over
  bool first = false;                // of an item
  std::vector<bool> sent, received;  // exchange progress

  bool is_collective() const {
    return instruction != nullptr && IsCollective(instruction->source->op);
  }
};

bool Lockstep::Rank::Skips(const Op& op) {
  if (op.instruction->predicate.empty()) return false;
  int32_t number = 0;
  std::memcpy(&number, Address(op.instruction->predicate[0], op.slot), sizeof(number));
  return number <= op.instruction->source->above;
}

Lockstep::Lockstep(const Plan& plan, SequenceSource source, Kernels kernels)
    : plan_(plan), source_(std::move(source)), kernels_(kernels) {}
Lockstep::~Lockstep() = default;

StatusOr<std::unique_ptr<Lockstep>> Lockstep::Create(const Plan& plan, SequenceSource source,
                                                     Kernels kernels) {
  for (const StageProgram& program : plan.programs) {
    RETURN_IF_ERROR(ValidateProgram(program, plan.mesh));
  }
  std::unique_ptr<Lockstep> lockstep(new Lockstep(plan, std::move(source), kernels));
  for (int64_t rank = 0; rank < plan.mesh.num_ranks(); ++rank) lockstep->AddRank(rank);
  return lockstep;
}

void Lockstep::AddRank(int64_t rank) {
  auto state = std::make_unique<Rank>();
  state->rank = rank;
  state->coordinates = plan_.mesh.Coordinates(rank);
  const int64_t stage = plan_.stage_axis >= 0 ? state->coordinates[plan_.stage_axis] : 0;
  state->program = &plan_.programs[stage];
  state->schedule = &plan_.schedules[stage];
  // Garbage where nothing was written yet must not look like zeros.
  state->arena.assign(state->program->ArenaBytes(), std::byte{0x7b});
  for (const Pool pool : {Pool::kState, Pool::kGrad, Pool::kScalars}) {
    std::memset(state->arena.data() + state->program->PoolOffset(pool), 0,
                state->program->PoolBytes(pool));
  }
  const auto resolve = [&](Phase phase, int chunk) {
    Rank::Code& code = state->code[{phase, chunk}];
    code.instructions = Resolve(*state->program, phase, chunk, plan_.mesh, rank);
    code.waits = FindWaits(*state->program, code.instructions);
  };
  for (const Phase phase : {Phase::kInit, Phase::kGather, Phase::kUpdate1, Phase::kUpdate2}) {
    resolve(phase, 0);
  }
  for (size_t chunk = 0; chunk < state->program->chunks.size(); ++chunk) {
    for (const Phase phase : {Phase::kForward, Phase::kBackward, Phase::kWeightGrad}) {
      resolve(phase, static_cast<int>(chunk));
    }
  }
  const ScalarPlacement& scalars = state->program->scalars;
  std::memcpy(state->arena.data() +
                  ArenaOffset(*state->program, Place{Pool::kScalars, scalars.lr_table}, 0),
              plan_.run.lr_table.data(), plan_.run.lr_table.size() * sizeof(float));
  ranks_.push_back(std::move(state));
}

std::vector<Lockstep::Op> Lockstep::StepOps(Rank& rank) const {
  std::vector<Op> ops;
  for (const ScheduleItem& item : rank.schedule->items) {
    if (item.kind == ItemKind::kExchange) {
      ops.push_back({.item = &item,
                     .first = true,
                     .sent = std::vector<bool>(item.sends.size()),
                     .received = std::vector<bool>(item.receives.size())});
      continue;
    }
    if (item.phase == Phase::kForward) {
      ops.push_back({.item = &item, .slot = item.slot, .first = true});
    }
    const int chunk = item.microbatch >= 0 ? item.chunk : 0;
    const Rank::Code& code = rank.CodeOf(item.phase, chunk);
    for (size_t i = 0; i < code.instructions.size(); ++i) {
      ops.push_back({.instruction = &code.instructions[i],
                     .slot = item.slot,
                     .wait = code.waits[i],
                     .first = i == 0});
    }
  }
  return ops;
}

void Lockstep::FillInputs(Rank& rank, int64_t step, int32_t microbatch, int32_t slot) {
  const TrainingRun& run = plan_.run;
  int64_t replica = 0;
  int64_t replicas = 1;
  for (const int axis : plan_.data_axes) {
    replica = replica * plan_.mesh.axis(axis).size + rank.coordinates[axis];
    replicas *= plan_.mesh.axis(axis).size;
  }
  const int64_t first =
      replica * (run.global_batch_size / replicas) + microbatch * run.microbatch_size;
  for (const InputPlacement& input : rank.program->inputs) {
    const std::vector<int64_t> sizes = LocalSizes(plan_.mesh, input.dims, input.sharding);
    std::byte* base =
        rank.arena.data() + ArenaOffset(*rank.program, Place{Pool::kInput, input.offset}, slot);
    for (int64_t row = 0; row < sizes[0]; ++row) {
      const SequenceData data = source_(step, first + row);
      for (int64_t p = 0; p < sizes[1]; ++p) {
        const int64_t position = PositionAt(p, sizes[1], run.zigzag_shards);
        const bool real = position < run.sequence_length;
        std::byte* at = base + (row * sizes[1] + p) * 4;
        if (input.name == "weights") {
          const float weight = !real ? 0.0f : data.weights.empty() ? 1.0f : data.weights[position];
          std::memcpy(at, &weight, 4);
          continue;
        }
        int32_t value = 0;
        if (input.name == "tokens" && real) value = data.tokens[position];
        if (input.name == "targets" && real) value = data.targets[position];
        if (input.name == "positions") value = static_cast<int32_t>(position);
        if (input.name == "segments") value = real ? 0 : -1;
        std::memcpy(at, &value, 4);
      }
    }
  }
}

void Lockstep::RunKernel(Rank& rank, const Op& op) {
  const ResolvedInstruction& instruction = *op.instruction;
  const auto tensors = [&](const std::vector<ResolvedOperand>& operands) {
    std::vector<trireme::Tensor> result;
    for (const ResolvedOperand& operand : operands) {
      result.push_back(
          {operand.dtype, rank.Address(operand, op.slot), operand.sizes, operand.strides});
    }
    return result;
  };
  const std::vector<trireme::Tensor> in = tensors(instruction.in);
  const std::vector<trireme::Tensor> out = tensors(instruction.out);
  const OpKernels& kernels = FindKernels(instruction.source->op);
  Stream stream;
  const KernelArgs args{stream, instruction.attrs, in, out, instruction.source->accumulate};
  (kernels_ == Kernels::kReference ? kernels.reference : kernels.cpu)(args);
}

namespace {

void Permute(int64_t shift, int64_t element, const std::vector<CollectiveBuffers>& members) {
  const auto n = static_cast<int64_t>(members.size());
  std::vector<std::vector<std::byte>> blocks;
  for (const CollectiveBuffers& m : members) blocks.emplace_back(m.in, m.in + m.in_count * element);
  for (int64_t i = 0; i < n; ++i) {
    const CollectiveBuffers& to = members[((i + shift) % n + n) % n];
    CHECK_EQ(to.out_count, members[i].in_count);
    std::memcpy(to.out, blocks[i].data(), blocks[i].size());
  }
}

}  // namespace

// Runs the collective that `rank` stands at, or its oldest one in flight, when every member has
// come to the same one.
bool Lockstep::TryCollective(std::vector<std::vector<Op>>& ops, int64_t rank) {
  const auto next_of = [&](Rank& peer) -> const Op* {
    if (!peer.flying.empty()) return peer.flying.front();
    if (peer.at >= ops[peer.rank].size()) return nullptr;
    const Op& op = ops[peer.rank][peer.at];
    if (op.is_collective() && peer.Skips(op)) return nullptr;
    return op.is_collective() && !op.instruction->source->async ? &op : nullptr;
  };
  const Op* mine_op = next_of(*ranks_[rank]);
  if (mine_op == nullptr) return false;
  const ResolvedInstruction& mine = *mine_op->instruction;
  std::vector<CollectiveBuffers> members;
  for (const int32_t member : mine.group) {
    Rank& peer = *ranks_[member];
    const Op* op = next_of(peer);
    if (op == nullptr || op->instruction->source->op != mine.source->op ||
        op->instruction->group != mine.group) {
      return false;
    }
    const ResolvedOperand& in = op->instruction->in[0];
    const ResolvedOperand& out = op->instruction->out[0];
    members.push_back({peer.Address(in, op->slot), Product(in.sizes), peer.Address(out, op->slot),
                       Product(out.sizes)});
  }
  if (mine.source->op == kPermuteOp) {
    Permute(mine.attrs.GetInt("shift"), SizeOf(mine.in[0].dtype), members);
  } else {
    RunCollective(mine.source->op, mine.attrs.GetString("kind"), mine.in[0].dtype, members);
  }
  for (const int32_t member : mine.group) {
    Rank& peer = *ranks_[member];
    if (peer.flying.empty()) {
      ++peer.at;
    } else {
      peer.flying.pop_front();
      ++peer.finished;
    }
  }
  return true;
}

// Moves the messages of `rank`'s exchange whose peers stand at theirs; true when anything moved.
bool Lockstep::TryExchange(std::vector<std::vector<Op>>& ops, int64_t rank) {
  Rank& me = *ranks_[rank];
  Op& op = ops[rank][me.at];
  bool moved = false;
  // Chunks of a model that is not split over ranks still hand their edges on, to themselves.
  const auto stage =
      static_cast<int32_t>(plan_.stage_axis >= 0 ? me.coordinates[plan_.stage_axis] : 0);
  for (size_t i = 0; i < op.item->sends.size(); ++i) {
    const Transfer& send = op.item->sends[i];
    if (op.sent[i]) continue;
    std::vector<int64_t> coordinates = me.coordinates;
    if (plan_.stage_axis >= 0) coordinates[plan_.stage_axis] = send.peer_stage;
    const int64_t peer_rank = plan_.mesh.RankOf(coordinates);
    Rank& peer = *ranks_[peer_rank];
    if (peer.at >= ops[peer_rank].size() || !peer.flying.empty() ||
        ops[peer_rank][peer.at].instruction != nullptr ||
        ops[peer_rank][peer.at].item->kind != ItemKind::kExchange) {
      continue;
    }
    Op& other = ops[peer_rank][peer.at];
    for (size_t j = 0; j < other.received.size(); ++j) {
      const Transfer& receive = other.item->receives[j];
      if (receive.peer_stage != stage || receive.gradient != send.gradient ||
          receive.microbatch != send.microbatch || receive.edge != send.edge)
        continue;
      const ChunkProgram& mine = me.program->chunks[send.chunk];
      const ChunkProgram& theirs = peer.program->chunks[receive.chunk];
      const auto& from = send.gradient ? mine.grad_edges_in : mine.edges_out;
      const auto& to = send.gradient ? theirs.grad_edges_out : theirs.edges_in;
      CHECK_EQ(from.size(), to.size());
      for (size_t k = 0; k < from.size(); ++k) {
        CHECK_EQ(from[k].bytes, to[k].bytes);
        std::memcpy(peer.arena.data() + ArenaOffset(*peer.program, to[k].place, receive.slot),
                    me.arena.data() + ArenaOffset(*me.program, from[k].place, send.slot),
                    from[k].bytes);
      }
      op.sent[i] = other.received[j] = moved = true;
    }
  }
  const auto all = [](const std::vector<bool>& flags) {
    return std::find(flags.begin(), flags.end(), false) == flags.end();
  };
  if (!all(op.sent) || !all(op.received)) return moved;
  ++me.at;
  return true;
}

std::string Lockstep::Stuck(const std::vector<std::vector<Op>>& ops) const {
  std::string text = "no rank can go on:";
  for (const auto& rank : ranks_) {
    text += "\n  rank " + std::to_string(rank->rank) + ": ";
    if (rank->at >= ops[rank->rank].size()) {
      text += "done";
    } else if (const Op& op = ops[rank->rank][rank->at]; op.instruction != nullptr) {
      text += op.instruction->source->op + " of " + op.instruction->source->tensor;
    } else {
      text += "exchange";
    }
  }
  return text;
}

// One thing that `rank` can do now; false when it has to wait.
bool Lockstep::Step(std::vector<std::vector<Op>>& ops, Rank& rank, int64_t step) {
  std::vector<Op>& mine = ops[rank.rank];
  const bool over = rank.at >= mine.size();
  if (over || mine[rank.at].first) {  // nothing runs on into another item
    if (!rank.flying.empty()) return TryCollective(ops, rank.rank);
    rank.started = rank.finished = 0;
    if (over) return false;
  }
  const Op& op = mine[rank.at];
  if (rank.finished < op.wait) return TryCollective(ops, rank.rank);
  if (op.instruction == nullptr && op.item->kind == ItemKind::kRun) {
    FillInputs(rank, step, op.item->microbatch, op.slot);
    ++rank.at;
    return true;
  }
  if (op.instruction == nullptr) return TryExchange(ops, rank.rank);
  if (rank.Skips(op)) {
    ++rank.at;
    return true;
  }
  if (!op.is_collective()) {
    RunKernel(rank, op);
    ++rank.at;
    return true;
  }
  if (!op.instruction->source->async) return TryCollective(ops, rank.rank);
  rank.flying.push_back(&op);
  ++rank.started;
  ++rank.at;
  return true;
}

Status Lockstep::Drive(std::vector<std::vector<Op>>& ops, int64_t step) {
  for (auto& rank : ranks_) rank->at = 0;
  for (bool moved = true; moved;) {
    moved = false;
    for (auto& rank : ranks_) {
      while (Step(ops, *rank, step)) moved = true;
    }
  }
  for (auto& rank : ranks_) {
    if (rank->at < ops[rank->rank].size() || !rank->flying.empty()) return Internal(Stuck(ops));
  }
  return absl::OkStatus();
}

Status Lockstep::Init() {
  std::vector<std::vector<Op>> ops;
  for (auto& rank : ranks_) {
    std::vector<Op> mine;
    for (const ResolvedInstruction& instruction : rank->CodeOf(Phase::kInit, 0).instructions) {
      mine.push_back({.instruction = &instruction});
    }
    ops.push_back(std::move(mine));
  }
  return Drive(ops, 0);
}

StatusOr<LockstepResult> Lockstep::RunStep(int64_t step) {
  std::vector<std::vector<Op>> ops;
  for (auto& rank : ranks_) {
    const StageProgram& program = *rank->program;
    std::memset(rank->arena.data() + program.PoolOffset(Pool::kGrad), 0,
                program.PoolBytes(Pool::kGrad));
    std::byte* scalars = rank->arena.data() + program.PoolOffset(Pool::kScalars);
    std::memset(scalars + program.scalars.reduce, 0, kReduceSize * sizeof(double));
    std::memset(scalars + program.scalars.router_stats, 0,
                program.scalars.router_layers.size() *
                    RouterStatSize(program.scalars.router_experts) * sizeof(double));
    const auto value = static_cast<double>(step);
    std::memcpy(scalars + program.scalars.control, &value, sizeof(value));
    ops.push_back(StepOps(*rank));
  }
  RETURN_IF_ERROR(Drive(ops, step));
  const Rank& first = *ranks_[0];
  double control[16];
  std::memcpy(control,
              first.arena.data() + first.program->PoolOffset(Pool::kScalars) +
                  first.program->scalars.control,
              sizeof(control));
  LockstepResult result{control[2], control[3], control[4], control[9], {}};
  const ScalarPlacement& scalars = first.program->scalars;
  if (scalars.router_layers.empty()) return result;
  result.router_stats.resize(scalars.router_layers.size() * RouterStatSize(scalars.router_experts));
  std::memcpy(
      result.router_stats.data(),
      first.arena.data() + first.program->PoolOffset(Pool::kScalars) + scalars.router_stats,
      result.router_stats.size() * sizeof(double));
  return result;
}

std::vector<std::string> Lockstep::TensorNames() const {
  std::vector<std::string> names;
  for (const ParameterPlan& parameter : plan_.parameters) names.push_back(parameter.name);
  return names;
}

namespace {

// Calls `visit(local flat index, global flat index)` for every logical element of a shard.
void ForEachElement(const Mesh& mesh, const TensorPlacement& tensor, const Sharding& sharding,
                    int64_t rank, const std::function<void(int64_t, int64_t)>& visit) {
  const std::vector<int64_t> local = LocalSizes(mesh, tensor.dims, sharding);
  const std::vector<int64_t> start = LocalStart(mesh, tensor.dims, sharding, rank);
  const std::vector<int64_t> strides = DenseStrides(Sizes(tensor.dims));
  const int64_t count = Product(local);
  for (int64_t flat = 0; flat < count; ++flat) {
    int64_t rest = flat;
    int64_t global = 0;
    bool real = true;
    for (int d = static_cast<int>(local.size()) - 1; d >= 0; --d) {
      const int64_t index = start[d] + rest % local[d];
      rest /= local[d];
      real = real && index < tensor.dims[d].size;
      global += index * strides[d];
    }
    if (real) visit(flat, global);
  }
}

}  // namespace

StatusOr<std::vector<float>> Lockstep::Tensor(const std::string& name, What what) const {
  std::vector<float> result;
  std::vector<bool> seen;
  for (const auto& rank : ranks_) {
    for (const TensorPlacement& tensor : rank->program->tensors) {
      if (tensor.name != name) continue;
      if (what != What::kParam && !tensor.trained) return std::vector<float>();
      Place place{Pool::kParam, tensor.param_offset};
      if (what == What::kGrad) place = tensor.reduced_grad;
      if (what == What::kState0) place = {Pool::kState, tensor.state_offsets[0]};
      if (what == What::kState1) place = {Pool::kState, tensor.state_offsets[1]};
      const Sharding& sharding =
          what == What::kParam ? tensor.param_sharding : tensor.optimizer_sharding;
      result.resize(Product(Sizes(tensor.dims)));
      seen.resize(result.size());
      const auto* values = reinterpret_cast<const float*>(rank->arena.data() +
                                                          ArenaOffset(*rank->program, place, 0));
      int64_t mismatches = 0;
      ForEachElement(plan_.mesh, tensor, sharding, rank->rank, [&](int64_t local, int64_t global) {
        if (seen[global] && std::memcmp(&result[global], &values[local], 4) != 0) ++mismatches;
        result[global] = values[local];
        seen[global] = true;
      });
      if (mismatches > 0) {
        return Internal(name + ": rank " + std::to_string(rank->rank) +
                        " disagrees with another holder in " + std::to_string(mismatches) +
                        " elements");
      }
    }
  }
  if (result.empty()) return NotFound("no tensor " + name);
  if (std::find(seen.begin(), seen.end(), false) != seen.end())
    return Internal(name + ": no rank holds some elements");
  return result;
}

Status Lockstep::SetParam(const std::string& name, const std::vector<float>& values) {
  bool found = false;
  for (auto& rank : ranks_) {
    for (const TensorPlacement& tensor : rank->program->tensors) {
      if (tensor.name != name) continue;
      if (static_cast<int64_t>(values.size()) != Product(Sizes(tensor.dims))) {
        return InvalidArgument(name + " has another size");
      }
      found = true;
      auto* data = reinterpret_cast<float*>(
          rank->arena.data() +
          ArenaOffset(*rank->program, Place{Pool::kParam, tensor.param_offset}, 0));
      ForEachElement(plan_.mesh, tensor, tensor.param_sharding, rank->rank,
                     [&](int64_t local, int64_t global) { data[local] = values[global]; });
    }
  }
  return found ? absl::OkStatus() : NotFound("no tensor " + name);
}

}  // namespace trireme
