// Hand-made programs on one and two ranks give what their instructions say: sums over microbatches
// and ranks, edges between stages, all collectives, the step's scalars, and errors that say where.
#include "worker/executor/executor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/plan/validate.h"
#include "kernels/ops/step_control/layout.h"
#include "worker/comm/local_group.h"
#include "worker/executor/program_builder.h"

namespace trireme {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr Transport kTransports[] = {Transport::kShm, Transport::kTcp};

std::vector<float> ReadFloats(const Executor& executor, const Place& place, int slot, int count) {
  std::vector<float> values(count);
  executor.Read(place, slot, values.data(), count * sizeof(float));
  return values;
}

void ExpectValid(const RankProgram& program) {
  EXPECT_TRUE(ValidateProgram(program.program, program.mesh).ok())
      << ValidateProgram(program.program, program.mesh);
  EXPECT_TRUE(ValidateSchedule(program.program, program.schedule, program.num_stages(),
                               program.run.num_microbatches)
                  .ok());
}

// Two microbatches in two slots: F saves 2*x, B adds it to the gradient, U1 sums over `data`, U2
// makes the scalars.
RankProgram AccumulateProgram(int64_t data_ranks) {
  RankProgram program;
  program.mesh = *Mesh::Create({{"data", data_ranks}});
  program.run = {.steps = 4, .num_microbatches = 2, .lr_table = {0.5f, 0.25f}};
  StageProgram& p = program.program;
  p.pools = {
      {Pool::kGrad, 16, 1}, {Pool::kInput, 16, 2}, {Pool::kSaved, 16, 2}, {Pool::kScalars, 192, 1}};
  p.groups = {{.axes = {0}}};
  p.inputs = {{.name = "x",
               .dims = {{"batch", 4 * data_ranks}},
               .sharding = {.dim_axes = {{0}}},
               .dtype = DType::kFloat32}};
  p.scalars = {.control = 0, .reduce = 128, .lr_table = 160, .lr_table_entries = 2};
  const Operand x = {{Pool::kInput, 0}, {4}}, y = {{Pool::kSaved, 0}, {4}},
                g = {{Pool::kGrad, 0}, {4}};
  const DType f64 = DType::kFloat64;
  const Operand control = {{Pool::kScalars, 0}, {16}, f64},
                reduce = {{Pool::kScalars, 128}, {4}, f64};
  const Operand table = {{Pool::kScalars, 160}, {2}};
  ProgramBuilder builder(program);
  builder.Add(Phase::kForward, "scale", {{"factor", 2.0}}, {x}, {y});
  builder.Add(Phase::kBackward, "accumulate", {}, {y}, {g}).accumulate = true;
  builder.Add(Phase::kUpdate1, "all_reduce", {{"kind", std::string("sum")}}, {g}, {g}).group = 0;
  for (int i : {kReduceLossSum, kReduceWeightSum, kReduceGradSumSquares}) {
    const double values[] = {6.0, 3.0, 4.0};
    builder.Add(Phase::kUpdate1, "fill", {{"value", values[i]}, {"dtype", std::string("float64")}},
                {}, {{{Pool::kScalars, 128 + 8 * i}, {}, f64}});
  }
  builder.Add(Phase::kUpdate2, "step_control",
              {{"max_grad_norm", 0.0}, {"beta1", 0.9}, {"beta2", 0.95}, {"expected_weight", 3.0}},
              {control, reduce, table}, {control});
  program.schedule.num_slots = 2;
  builder.Run(Phase::kForward, 0, 0);
  builder.Run(Phase::kForward, 1, 1);
  builder.Run(Phase::kBackward, 0, 0);
  builder.Run(Phase::kBackward, 1, 1);
  builder.Run(Phase::kUpdate1);
  builder.Run(Phase::kUpdate2);
  return program;
}

// x = 1000 step + 100 rank + 10 microbatch + i.
MicrobatchSource Numbers(int64_t rank) {
  return [rank](int64_t step, int64_t microbatch, const std::vector<void*>& inputs) -> Status {
    for (int i = 0; i < 4; ++i) {
      static_cast<float*>(inputs[0])[i] =
          static_cast<float>(1000 * step + 100 * rank + 10 * microbatch + i);
    }
    return absl::OkStatus();
  };
}

TEST(Executor, AddsMicrobatchesAndStartsEveryStepFromZero) {
  const RankProgram program = AccumulateProgram(1);
  ExpectValid(program);
  const auto device = MakeCpuDevice(1);
  const auto executor = Executor::Create(program, 0, nullptr, *device);
  ASSERT_TRUE(executor.ok()) << executor.status();
  for (int step = 0; step < 3; ++step) {
    const StatusOr<StepResult> result = (*executor)->RunStep(step, Numbers(0));
    ASSERT_TRUE(result.ok()) << result.status();
    const float base = 2.0f * (2000 * step + 10);
    EXPECT_THAT(ReadFloats(**executor, {Pool::kGrad, 0}, 0, 4),
                ElementsAre(base, base + 4, base + 8, base + 12));
    EXPECT_EQ(result->loss, 2.0);
    EXPECT_EQ(result->grad_norm, 2.0);
    EXPECT_EQ(result->tokens, 3.0);
    EXPECT_TRUE(result->applied);
    EXPECT_TRUE(result->router_stats.empty());
    EXPECT_EQ(result->applied_steps, step + 1);
    EXPECT_EQ(result->learning_rate, step == 0 ? 0.5 : 0.25);
    double control_step = -1;
    (*executor)->Read({Pool::kScalars, 8 * kControlStep}, 0, &control_step, 8);
    EXPECT_EQ(control_step, step);
  }
  (*executor)->SetAppliedStep(40);
  EXPECT_EQ((*executor)->AppliedStep(), 40);
}

// The second microbatch is added only where its slot's number is more than 1.
TEST(Executor, PredicatesSkipWhatIsNotAskedFor) {
  RankProgram program = AccumulateProgram(1);
  program.program.pools[2].bytes = 20;  // 4 floats and a number
  Instruction& add = program.program.codes[1].instructions[0];
  ASSERT_EQ(add.op, "accumulate");
  Instance& instance = program.program.chunks[0].backward[0];
  instance.places.push_back({Pool::kSaved, 16});
  program.program.codes[1].bindings.push_back("number");
  add.predicate = {{.binding = 2, .dtype = DType::kInt32}};
  add.above = 1;
  ExpectValid(program);
  const auto device = MakeCpuDevice(1);
  const auto executor = Executor::Create(program, 0, nullptr, *device);
  ASSERT_TRUE(executor.ok()) << executor.status();
  for (const int32_t second : {0, 1, 2, 3}) {
    const int32_t first = 2;
    (*executor)->Write({Pool::kSaved, 16}, 0, &first, sizeof(first));
    (*executor)->Write({Pool::kSaved, 16}, 1, &second, sizeof(second));
    const StatusOr<StepResult> result = (*executor)->RunStep(0, Numbers(0));
    ASSERT_TRUE(result.ok()) << result.status();
    const float third = second > 1 ? 2.0f * (2 + 12) : 2.0f * 2;
    EXPECT_EQ(ReadFloats(**executor, {Pool::kGrad, 0}, 0, 4)[2], third) << second;
  }
}

// Routers of layers 1 and 2, of one expert: 10 numbers each, to which every microbatch adds 3.
TEST(Executor, GivesTheSumsOfRoutersOfEachStep) {
  RankProgram program = AccumulateProgram(1);
  StageProgram& p = program.program;
  for (PoolSize& pool : p.pools) {
    if (pool.pool == Pool::kScalars) pool.bytes = 352;
  }
  p.scalars.router_stats = 168;
  p.scalars.router_layers = {1, 2};
  p.scalars.router_experts = 1;
  p.scalars.router_choices = 1;
  p.pools.push_back({Pool::kScratch, 160, 1});
  const DType f64 = DType::kFloat64;
  const Operand three = {{Pool::kScratch, 0}, {20}, f64},
                stats = {{Pool::kScalars, 168}, {20}, f64};
  ProgramBuilder builder(program);
  builder.Add(Phase::kForward, "fill", {{"value", 3.0}, {"dtype", std::string("float64")}}, {},
              {three});
  builder.Add(Phase::kForward, "accumulate", {}, {three}, {stats}).accumulate = true;
  ExpectValid(program);
  const auto device = MakeCpuDevice(1);
  const auto executor = Executor::Create(program, 0, nullptr, *device);
  ASSERT_TRUE(executor.ok()) << executor.status();
  for (int step = 0; step < 2; ++step) {
    const StatusOr<StepResult> result = (*executor)->RunStep(step, Numbers(0));
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_THAT(result->router_stats, ::testing::AllOf(SizeIs(20), Each(6.0))) << step;
    EXPECT_EQ(result->loss, 2.0);
    EXPECT_EQ(result->learning_rate, step == 0 ? 0.5 : 0.25) << "the table beside them is whole";
  }
}

TEST(Executor, SumsOverRanks) {
  for (const Transport transport : kTransports) {
    const std::vector<Status> results = RunRanks(2, transport, [](Communicator& comm) -> Status {
      const RankProgram program = AccumulateProgram(2);
      const auto device = MakeCpuDevice(1);
      ASSIGN_OR_RETURN(const auto executor, Executor::Create(program, comm.rank(), &comm, *device));
      RETURN_IF_ERROR(executor->RunStep(0, Numbers(comm.rank())).status());
      // 2 * sum over 2 ranks and 2 microbatches.
      EXPECT_THAT(ReadFloats(*executor, {Pool::kGrad, 0}, 0, 4), ElementsAre(440, 448, 456, 464));
      return absl::OkStatus();
    });
    for (const Status& status : results) EXPECT_TRUE(status.ok()) << status;
  }
}

// Init: s = 1 + rank; then every collective on it.
TEST(Executor, MapsEveryCollective) {
  const auto run = [](Communicator& comm) -> Status {
    RankProgram program;
    program.mesh = *Mesh::Create({{"model", 2}});
    program.program.pools = {{Pool::kScratch, 256, 1}};
    program.program.groups = {{.axes = {0}}};
    auto at = [](int64_t offset, int64_t count) -> Operand {
      return {{Pool::kScratch, offset}, {count}};
    };
    ProgramBuilder builder(program);
    const Attrs sum = {{"kind", std::string("sum")}}, max = {{"kind", std::string("max")}};
    builder.Add(Phase::kInit, "all_gather", {}, {at(0, 2)}, {at(64, 4)}).group = 0;
    builder.Add(Phase::kInit, "reduce_scatter", sum, {at(64, 4)}, {at(128, 2)}).group = 0;
    builder.Add(Phase::kInit, "all_to_all", {}, {at(0, 2)}, {at(160, 2)}).group = 0;
    builder.Add(Phase::kInit, "all_reduce", max, {at(0, 2)}, {at(0, 2)}).group = 0;
    ExpectValid(program);
    const auto device = MakeCpuDevice(1);
    ASSIGN_OR_RETURN(const auto executor, Executor::Create(program, comm.rank(), &comm, *device));
    const float own[] = {1.0f + 10 * comm.rank(), 2.0f + 10 * comm.rank()};
    executor->Write({Pool::kScratch, 0}, 0, own, sizeof(own));
    RETURN_IF_ERROR(executor->Init());
    const bool first = comm.rank() == 0;
    EXPECT_THAT(ReadFloats(*executor, {Pool::kScratch, 64}, 0, 4), ElementsAre(1, 2, 11, 12));
    EXPECT_THAT(ReadFloats(*executor, {Pool::kScratch, 128}, 0, 2),
                first ? ElementsAre(2, 4) : ElementsAre(22, 24));
    EXPECT_THAT(ReadFloats(*executor, {Pool::kScratch, 160}, 0, 2),
                first ? ElementsAre(1, 11) : ElementsAre(2, 12));
    EXPECT_THAT(ReadFloats(*executor, {Pool::kScratch, 0}, 0, 2), ElementsAre(11, 12));
    return absl::OkStatus();
  };
  for (const Status& status : RunRanks(2, Transport::kShm, run)) EXPECT_TRUE(status.ok()) << status;
}

// A gather and a pass around the ring run beside a kernel; what reads them waits.
TEST(Executor, AsyncCollectivesAreWaitedFor) {
  for (const Transport transport : kTransports) {
    const std::vector<Status> results = RunRanks(2, transport, [](Communicator& comm) -> Status {
      RankProgram program;
      program.mesh = *Mesh::Create({{"model", 2}});
      program.program.pools = {{Pool::kScratch, 512, 1}};
      program.program.groups = {{.axes = {0}}};
      auto at = [](int64_t offset, int64_t count) -> Operand {
        return {{Pool::kScratch, offset}, {count}};
      };
      ProgramBuilder builder(program);
      const auto start = [&](const char* op, const Attrs& attrs, Operand in, Operand out) {
        Instruction& instruction = builder.Add(Phase::kInit, op, attrs, {in}, {out});
        instruction.group = 0;
        instruction.async = true;
      };
      const Attrs twice = {{"factor", 2.0}};
      start("all_gather", {}, at(0, 2), at(64, 4));
      start("permute", {{"shift", int64_t{1}}}, at(0, 2), at(128, 2));
      builder.Add(Phase::kInit, "scale", twice, {at(0, 2)}, {at(192, 2)});  // beside both
      builder.Add(Phase::kInit, "scale", twice, {at(64, 4)}, {at(256, 4)});
      builder.Add(Phase::kInit, "scale", twice, {at(128, 2)}, {at(0, 2)});  // over what was sent
      ExpectValid(program);
      const auto device = MakeCpuDevice(1);
      ASSIGN_OR_RETURN(const auto executor, Executor::Create(program, comm.rank(), &comm, *device));
      TraceRecorder trace(comm.rank());
      executor->SetTrace(&trace);
      for (int round = 0; round < 20; ++round) {
        const bool first = comm.rank() == 0;
        const float own[] = {first ? 1.0f : 11.0f, first ? 2.0f : 12.0f};
        executor->Write({Pool::kScratch, 0}, 0, own, sizeof(own));
        RETURN_IF_ERROR(executor->Init());
        EXPECT_THAT(ReadFloats(*executor, {Pool::kScratch, 256}, 0, 4), ElementsAre(2, 4, 22, 24));
        EXPECT_THAT(ReadFloats(*executor, {Pool::kScratch, 192}, 0, 2),
                    first ? ElementsAre(2, 4) : ElementsAre(22, 24));
        EXPECT_THAT(ReadFloats(*executor, {Pool::kScratch, 0}, 0, 2),
                    first ? ElementsAre(22, 24) : ElementsAre(2, 4));
      }
      EXPECT_EQ(trace.events().size(), 20u * 5);
      return absl::OkStatus();
    });
    for (const Status& status : results) EXPECT_TRUE(status.ok()) << status;
  }
}

// Stage 0 sends 3x; stage 1 makes -1 times it its gradient and sends that back.
RankProgram PipelineProgram(int32_t stage) {
  RankProgram program;
  program.mesh = *Mesh::Create({{"stage", 2}});
  program.stage_axis = 0;
  program.run = {.steps = 1, .num_microbatches = 2};
  program.schedule.stage = program.program.stage = stage;
  program.schedule.num_slots = 2;
  StageProgram& p = program.program;
  p.pools = {{Pool::kInput, 16, 2}, {Pool::kEdge, 128, 2}};
  const Operand x = {{Pool::kInput, 0}, {4}};
  const Operand edge = {{Pool::kEdge, 0}, {4}}, grad = {{Pool::kEdge, 64}, {4}};
  ProgramBuilder builder(program);
  const EdgePlacement edge_place = {edge.place, 16}, grad_place = {grad.place, 16};
  auto exchange = [&](int32_t microbatch, bool gradient) {
    const Transfer transfer = {1 - stage, gradient, microbatch, microbatch};
    ScheduleItem item = {.kind = ItemKind::kExchange};
    (gradient == (stage == 1) ? item.sends : item.receives).push_back(transfer);
    program.schedule.items.push_back(item);
  };
  if (stage == 0) {
    p.inputs = {
        {.name = "x", .dims = {{"batch", 4}}, .sharding = Replicated(1), .dtype = DType::kFloat32}};
    p.chunks[0].edges_out = {edge_place};
    p.chunks[0].grad_edges_out = {grad_place};
    builder.Add(Phase::kForward, "scale", {{"factor", 3.0}}, {x}, {edge});
  } else {
    p.chunks[0].edges_in = {edge_place};
    p.chunks[0].grad_edges_in = {grad_place};
    builder.Add(Phase::kBackward, "scale", {{"factor", -1.0}}, {edge}, {grad});
  }
  for (int m : {0, 1}) {
    if (stage == 0) builder.Run(Phase::kForward, m, m);
    exchange(m, false);
  }
  for (int m : {0, 1}) {
    if (stage == 1) builder.Run(Phase::kBackward, m, m);
    exchange(m, true);
  }
  return program;
}

TEST(Executor, ExchangesEdgesBetweenStages) {
  for (const Transport transport : kTransports) {
    const std::vector<Status> results = RunRanks(2, transport, [](Communicator& comm) -> Status {
      const RankProgram program = PipelineProgram(comm.rank());
      ExpectValid(program);
      const auto device = MakeCpuDevice(1);
      ASSIGN_OR_RETURN(const auto executor, Executor::Create(program, comm.rank(), &comm, *device));
      RETURN_IF_ERROR(executor->RunStep(0, Numbers(0)).status());
      for (int m : {0, 1}) {
        const float x = 10.0f * m;
        EXPECT_THAT(ReadFloats(*executor, {Pool::kEdge, 0}, m, 4),
                    ElementsAre(3 * x, 3 * x + 3, 3 * x + 6, 3 * x + 9));
        EXPECT_THAT(ReadFloats(*executor, {Pool::kEdge, 64}, m, 4),
                    ElementsAre(-3 * x, -3 * x - 3, -3 * x - 6, -3 * x - 9));
      }
      return absl::OkStatus();
    });
    for (const Status& status : results) EXPECT_TRUE(status.ok()) << status;
  }
}

TEST(Executor, ErrorsSayWhere) {
  const RankProgram program = AccumulateProgram(1);
  const auto device = MakeCpuDevice(1);
  const auto executor = Executor::Create(program, 0, nullptr, *device);
  ASSERT_TRUE(executor.ok());
  const auto fails = [](int64_t, int64_t microbatch, const std::vector<void*>&) -> Status {
    return microbatch == 1 ? Unavailable("no data") : absl::OkStatus();
  };
  const Status status = (*executor)->RunStep(5, fails).status();
  EXPECT_EQ(status.message(), "step 5, F of microbatch 1: inputs: no data");

  RankProgram unknown = program;
  unknown.program.codes[0].instructions[0].op = "transmogrify";
  EXPECT_THAT(std::string(Executor::Create(unknown, 0, nullptr, *device).status().message()),
              HasSubstr("op 'transmogrify'"));
  RankProgram short_table = program;
  short_table.run.lr_table.pop_back();
  EXPECT_THAT(std::string(Executor::Create(short_table, 0, nullptr, *device).status().message()),
              HasSubstr("room for 2 learning rates but the run has 1"));
}

TEST(Executor, AnAbortedPeerIsNamedWithTheCollective) {
  const std::vector<Status> results =
      RunRanks(2, Transport::kShm, [](Communicator& comm) -> Status {
        if (comm.rank() == 1) {
          comm.Abort("rank 1 gave up");
          return absl::OkStatus();
        }
        const RankProgram program = AccumulateProgram(2);
        const auto device = MakeCpuDevice(1);
        ASSIGN_OR_RETURN(const auto executor, Executor::Create(program, 0, &comm, *device));
        return executor->RunStep(7, Numbers(0)).status();
      });
  EXPECT_THAT(std::string(results[0].message()), HasSubstr("step 7, U1: code.U1 #0 all_reduce: "));
  EXPECT_THAT(std::string(results[0].message()), HasSubstr("rank 1 gave up"));
}

}  // namespace
}  // namespace trireme
