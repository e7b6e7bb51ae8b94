// The step loop. Nothing in it allocates or parses, but for the result at its end; strings are made
// only for errors.
#include "worker/executor/executor.h"

#include <algorithm>
#include <string>
#include <utility>

#include "common/base/check.h"
#include "common/plan/resolve.h"
#include "common/plan/validate.h"
#include "kernels/ops/router_stats/layout.h"
#include "kernels/ops/step_control/layout.h"
#include "worker/comm/flight_recorder.h"

namespace trireme {
namespace {

static_assert(kControlSize == kControlEntries && kReduceSize == kReduceEntries,
              "the validator checks the scalar blocks that step_control uses");

constexpr int kNumPhases = 7;

int64_t RouterStatCount(const ScalarPlacement& scalars) {
  return static_cast<int64_t>(scalars.router_layers.size()) *
         RouterStatSize(scalars.router_experts);
}

bool IsPerMicrobatch(Phase phase) {
  return phase == Phase::kForward || phase == Phase::kBackward || phase == Phase::kWeightGrad;
}

std::string Where(int64_t step, const ScheduleItem& item) {
  std::string text = "step " + std::to_string(step) + ", ";
  if (item.kind == ItemKind::kExchange) {
    auto append = [&text](const std::vector<Transfer>& transfers, const char* verb,
                          const char* preposition) {
      for (const Transfer& transfer : transfers) {
        text += std::string(verb) + (transfer.gradient ? " gradient" : "") + " of microbatch " +
                std::to_string(transfer.microbatch) + preposition + "stage " +
                std::to_string(transfer.peer_stage) + ", ";
      }
    };
    append(item.sends, "send", " to ");
    append(item.receives, "receive", " from ");
    text.resize(text.size() - 2);
    return text;
  }
  text += Name(item.phase);
  if (item.microbatch >= 0) text += " of microbatch " + std::to_string(item.microbatch);
  return text;
}

}  // namespace

StatusOr<std::unique_ptr<Executor>> Executor::Create(const RankProgram& program, int64_t rank,
                                                     Communicator* communicator, Device& device) {
  CHECK(0 <= rank && rank < program.mesh.num_ranks()) << "rank " << rank;
  std::unique_ptr<Executor> executor(new Executor(program, rank, communicator, device));
  RETURN_IF_ERROR(executor->Build());
  return executor;
}

Status Executor::Build() {
  const StageProgram& program = program_.program;
  ASSIGN_OR_RETURN(arena_, device_.Allocate(program.ArenaBytes()));
  RETURN_IF_ERROR(BuildPhases());
  exchanges_.resize(program_.schedule.items.size());
  for (size_t i = 0; i < exchanges_.size(); ++i) {
    const ScheduleItem& item = program_.schedule.items[i];
    if (item.kind == ItemKind::kExchange) {
      exchanges_[i] = BuildExchange(program_, item, rank_, arena_);
    }
  }
  for (const InputPlacement& input : program.inputs) {
    const int64_t count = Product(LocalSizes(program_.mesh, input.dims, input.sharding));
    staging_.emplace_back(count * SizeOf(input.dtype));
  }
  for (std::vector<char>& buffer : staging_) staging_pointers_.push_back(buffer.data());
  has_scalars_ = program.PoolBytes(Pool::kScalars) > 0;
  if (!has_scalars_) return absl::OkStatus();
  const ScalarPlacement& scalars = program.scalars;
  const std::vector<float>& table = program_.run.lr_table;
  if (scalars.lr_table_entries != static_cast<int64_t>(table.size())) {
    return InvalidArgument("the program has room for " + std::to_string(scalars.lr_table_entries) +
                           " learning rates but the run has " + std::to_string(table.size()));
  }
  Write({Pool::kScalars, scalars.lr_table}, 0, table.data(), table.size() * sizeof(float));
  return absl::OkStatus();
}

Status Executor::BuildPhases() {
  phases_.resize(kNumPhases);
  bool has_async = false;
  for (int i = 0; i < kNumPhases; ++i) {
    const Phase phase = static_cast<Phase>(i);
    const bool repeated = IsPerMicrobatch(phase);
    const int num_slots = repeated ? program_.schedule.num_slots : 1;
    const int num_chunks = repeated ? static_cast<int>(program_.program.chunks.size()) : 1;
    phases_[i].by_chunk_and_slot.resize(num_chunks);
    for (int chunk = 0; chunk < num_chunks; ++chunk) {
      for (int slot = 0; slot < num_slots; ++slot) {
        ASSIGN_OR_RETURN(std::vector<Call> calls,
                         BuildCalls(program_, phase, chunk, slot, rank_, arena_));
        for (const Call& call : calls) has_async = has_async || call.async;
        phases_[i].by_chunk_and_slot[chunk].push_back(std::move(calls));
      }
    }
  }
  if (has_async) comm_thread_ = std::make_unique<CommThread>();
  return absl::OkStatus();
}

const std::vector<Call>& Executor::CallsOf(Phase phase, int chunk, int slot) const {
  const auto& calls = phases_[static_cast<int>(phase)].by_chunk_and_slot;
  return IsPerMicrobatch(phase) ? calls[chunk][slot] : calls[0][0];
}

Status Executor::Init() {
  return Annotate(RunCalls(CallsOf(Phase::kInit, 0, 0), /*step=*/-1, /*item=*/-1),
                  "initial weights");
}

Status Executor::RunPhase(Phase phase, int slot) {
  return Annotate(RunCalls(CallsOf(phase, 0, slot), /*step=*/-1, /*item=*/-1), Name(phase));
}

StatusOr<StepResult> Executor::RunStep(int64_t step, const MicrobatchSource& source) {
  StartStep(step);
  const std::vector<ScheduleItem>& items = program_.schedule.items;
  for (size_t i = 0; i < items.size(); ++i) {
    const Status status = RunItem(step, static_cast<int32_t>(i), source);
    if (!status.ok()) return Annotate(status, Where(step, items[i]));
  }
  return FinishStep();
}

void Executor::StartStep(int64_t step) {
  const StageProgram& program = program_.program;
  device_.FillZero(arena_ + program.PoolOffset(Pool::kGrad), program.PoolBytes(Pool::kGrad));
  if (!has_scalars_) return;
  const Place reduce = {Pool::kScalars, program.scalars.reduce};
  device_.FillZero(arena_ + ArenaOffset(program, reduce, 0), kReduceSize * sizeof(double));
  const int64_t stats_bytes = RouterStatCount(program.scalars) * int64_t{sizeof(double)};
  if (stats_bytes > 0) {
    const Place stats = {Pool::kScalars, program.scalars.router_stats};
    device_.FillZero(arena_ + ArenaOffset(program, stats, 0), stats_bytes);
  }
  const double value = static_cast<double>(step);
  Write({Pool::kScalars, program.scalars.control + kControlStep * int64_t{sizeof(double)}}, 0,
        &value, sizeof(value));
}

StepResult Executor::FinishStep() const {
  if (!has_scalars_) return {};
  const ScalarPlacement& scalars = program_.program.scalars;
  double control[kControlSize];
  Read({Pool::kScalars, scalars.control}, 0, control, sizeof(control));
  std::vector<double> stats(RouterStatCount(scalars));
  Read({Pool::kScalars, scalars.router_stats}, 0, stats.data(),
       static_cast<int64_t>(stats.size() * sizeof(double)));
  return {.loss = control[kControlLoss],
          .grad_norm = control[kControlGradNorm],
          .learning_rate = control[kControlLearningRate],
          .tokens = control[kControlWeight],
          .applied = control[kControlApply] != 0,
          .applied_steps = static_cast<int64_t>(control[kControlAppliedStep]),
          .router_stats = std::move(stats)};
}

Status Executor::RunItem(int64_t step, int32_t item, const MicrobatchSource& source) {
  const ScheduleItem& scheduled = program_.schedule.items[item];
  if (scheduled.kind == ItemKind::kExchange) {
    if (communicator_ == nullptr) return Internal("no communicator for an exchange");
    SetProgress(step, item, -1);
    const int64_t start = trace_ != nullptr ? WallClockNs() : 0;
    const Status status =
        communicator_->Exchange(exchanges_[item].sends, exchanges_[item].receives);
    if (trace_ != nullptr) {
      trace_->Add({TraceTrack::kTransfer, Where(step, scheduled), start, WallClockNs()});
    }
    return status;
  }
  if (scheduled.phase == Phase::kForward) RETURN_IF_ERROR(FillInputs(step, scheduled, source));
  return RunCalls(CallsOf(scheduled.phase, scheduled.chunk, scheduled.slot), step, item);
}

Status Executor::FillInputs(int64_t step, const ScheduleItem& item,
                            const MicrobatchSource& source) {
  const std::vector<InputPlacement>& inputs = program_.program.inputs;
  if (inputs.empty()) return absl::OkStatus();
  RETURN_IF_ERROR(Annotate(source(step, item.microbatch, staging_pointers_), "inputs"));
  for (size_t i = 0; i < inputs.size(); ++i) {
    Write({Pool::kInput, inputs[i].offset}, item.slot, staging_[i].data(),
          static_cast<int64_t>(staging_[i].size()));
  }
  return absl::OkStatus();
}

Status Executor::RunCalls(const std::vector<Call>& calls, int64_t step, int32_t item) {
  // Collectives of this list begin after those that were posted before it.
  const int64_t base = comm_thread_ != nullptr ? comm_thread_->posted() : 0;
  for (size_t i = 0; i < calls.size(); ++i) {
    const Call& call = calls[i];
    if (call.wait > 0) RETURN_IF_ERROR(comm_thread_->WaitFor(base + call.wait));
    if (call.predicate != nullptr && *call.predicate <= call.above) continue;
    const auto instruction = static_cast<int32_t>(i);
    if (call.async) {
      comm_thread_->Post([this, &call, step, item, instruction] {
        SetProgress(step, item, instruction);
        return RunTimed(call);
      });
      continue;
    }
    // While collectives run beside it, their thread says where the rank is.
    if (comm_thread_ == nullptr) SetProgress(step, item, instruction);
    RETURN_IF_ERROR(RunTimed(call));
  }
  return Drain();
}

Status Executor::Drain() {
  return comm_thread_ != nullptr ? comm_thread_->WaitForAll() : absl::OkStatus();
}

Status Executor::RunTimed(const Call& call) {
  const int64_t start = trace_ != nullptr ? WallClockNs() : 0;
  const bool kernel = call.kind == CallKind::kKernel;
  Status status;
  if (kernel) {
    call.kernel({device_.stream(), call.attrs, call.in, call.out, call.accumulate, call.workspace});
  } else {
    status = RunCollective(call);
  }
  if (trace_ != nullptr) {
    trace_->Add({kernel ? TraceTrack::kCompute : TraceTrack::kTransfer, ToText(call), start,
                 WallClockNs()});
  }
  return status.ok() ? status : Annotate(status, ToText(call));
}

Status Executor::RunCollective(const Call& call) {
  const Tensor& in = call.in[0];
  const Tensor& out = call.out[0];
  const ConstSpan from = {in.data, in.count()};
  const Span to = {out.data, out.count()};
  if (call.group.ranks.size() == 1) {
    if (in.data != out.data) device_.Copy(out.data, in.data, from.count * SizeOf(in.dtype));
    return absl::OkStatus();
  }
  if (communicator_ == nullptr) return Internal("no communicator for a group of several ranks");
  switch (call.kind) {
    case CallKind::kAllReduce:
      return communicator_->AllReduce(call.group, out.dtype, call.reduce, to);
    case CallKind::kAllGather:
      return communicator_->AllGather(call.group, out.dtype, from, to);
    case CallKind::kReduceScatter:
      return communicator_->ReduceScatter(call.group, out.dtype, call.reduce, from, to);
    case CallKind::kAllToAll:
      return communicator_->AllToAll(call.group, out.dtype, from, to);
    case CallKind::kPermute: {
      const int32_t tag = call.group.id & 0xffff;
      const int64_t bytes = from.count * SizeOf(in.dtype);
      return communicator_->Exchange({{call.to, tag, in.data, bytes}},
                                     {{call.from, tag, out.data, bytes}});
    }
    case CallKind::kKernel:
      break;
  }
  return Internal("no collective");
}

void Executor::SetProgress(int64_t step, int32_t item, int32_t instruction) {
  if (communicator_ != nullptr) communicator_->SetProgress(step, item, instruction);
}

void Executor::Read(const Place& place, int slot, void* host_to, int64_t bytes) const {
  if (bytes == 0) return;
  device_.CopyOut(host_to, arena_ + ArenaOffset(program_.program, place, slot), bytes);
}

void Executor::Write(const Place& place, int slot, const void* host_from, int64_t bytes) {
  if (bytes == 0) return;
  device_.CopyIn(arena_ + ArenaOffset(program_.program, place, slot), host_from, bytes);
}

int64_t Executor::AppliedStep() const { return FinishStep().applied_steps; }

void Executor::SetAppliedStep(int64_t applied_step) {
  if (!has_scalars_) return;
  const double value = static_cast<double>(applied_step);
  const int64_t offset =
      program_.program.scalars.control + kControlAppliedStep * int64_t{sizeof(double)};
  Write({Pool::kScalars, offset}, 0, &value, sizeof(value));
}

}  // namespace trireme
