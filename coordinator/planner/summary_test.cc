// Numbers of a plan against what can be counted by hand.
#include "coordinator/planner/summary.h"

#include "common/base/math.h"
#include "coordinator/planner/test_jobs.h"

namespace trireme {
namespace {

constexpr int64_t kActivation = 2 * 6 * 8 * 4;  // bytes of [batch 2, position 6, embed 8]

// Sums over the rows of `op` whose reason or tensor contains `part`.
struct Row {
  int64_t bytes = 0;
  int64_t count = 0;
};
Row Sum(const Plan& plan, const std::string& op, const std::string& part, int32_t stage = 0) {
  Row row;
  for (const CollectivePlan& c : plan.collectives) {
    if (c.op != op || c.stage != stage) continue;
    if (c.reason.find(part) == std::string::npos && c.tensor.find(part) == std::string::npos)
      continue;
    row.bytes += c.bytes_per_step;
    row.count += c.count_per_step;
  }
  return row;
}

// ---- one collective

TEST(CollectiveBytes, InClosedForm) {
  const Mesh mesh = *Mesh::Create({{"stage", 3}, {"data", 4}});
  const View small = {.sizes = {6}, .strides = {1}};
  const View large = {.sizes = {24}, .strides = {1}};
  const Group data = {.axes = {1}};
  EXPECT_EQ(CollectiveBytes(mesh, data, {.op = "all_gather", .in = {small}, .out = {large}}),
            96 * 3 / 4);
  EXPECT_EQ(CollectiveBytes(mesh, data, {.op = "reduce_scatter", .in = {large}, .out = {small}}),
            96 * 3 / 4);
  EXPECT_EQ(CollectiveBytes(mesh, data, {.op = "all_to_all", .in = {large}, .out = {large}}),
            96 * 3 / 4);
  EXPECT_EQ(CollectiveBytes(mesh, data, {.op = "all_reduce", .in = {large}, .out = {large}}),
            2 * 96 * 3 / 4);
}

// A tied tensor's two stages of three.
TEST(CollectiveBytes, CountsMembersOnly) {
  const Mesh mesh = *Mesh::Create({{"stage", 3}, {"data", 4}});
  const View view = {.sizes = {24}, .strides = {1}};
  EXPECT_EQ(CollectiveBytes(mesh, {.axes = {0}, .members = {0, 2}},
                            {.op = "all_reduce", .in = {view}, .out = {view}}),
            2 * 96 / 2);
}

// ---- a plan

// Tensor parallel: two all-reduces of the residual a layer, forward and backward, in each of four
// microbatches.
TEST(Summarize, TensorParallelCollectives) {
  const Plan plan = MustPlan(SmallJob({"mesh.axes={data: 1, model: 2}"}), Devices(2));
  int64_t residual = 0;
  int64_t count = 0;
  for (const CollectivePlan& c : plan.collectives) {
    EXPECT_FALSE(c.reason.empty());
    EXPECT_EQ(c.fabric, Fabric::kIci);
    EXPECT_EQ(c.axes, std::vector<std::string>{"model"});
    if (c.op != "all_reduce" || c.bytes_per_step != c.count_per_step * kActivation)
      continue;  // 2 * bytes * 1 / 2
    residual += c.bytes_per_step;
    count += c.count_per_step;
  }
  EXPECT_EQ(count, 4 * (2 * 2 + 2 * 2) + 4 * 2)
      << "blocks, and the embedding with its counterpart in the head's backward";
  EXPECT_EQ(residual, count * kActivation);
}

// FSDP: every weight is gathered in forward and backward; gradients are scattered once a
// microbatch.
TEST(Summarize, FsdpCollectives) {
  const Plan plan = MustPlan(SmallJob({"mesh.axes={data: 2}"}), Devices(2));
  EXPECT_EQ(plan.run.num_microbatches, 2);
  const Row gathers = Sum(plan, "all_gather", "up_proj");
  EXPECT_EQ(gathers.count, 2 * 2 * 2) << "layers, microbatches, forward and backward";
  EXPECT_EQ(gathers.bytes, gathers.count * (8 * 12 * 4) / 2);
  const Row scatters = Sum(plan, "reduce_scatter", "up_proj");
  EXPECT_EQ(scatters.count, 2 * 2);
  EXPECT_EQ(scatters.bytes, scatters.count * (8 * 12 * 4) / 2);
}

// Between stages one activation a microbatch goes forward and one gradient comes back.
TEST(Summarize, SendsBetweenStages) {
  const Plan plan = MustPlan(SmallJob({"mesh.axes={stage: 2, data: 1}"}), Devices(2));
  const Row forward = Sum(plan, "send", "residual stream", 0);
  EXPECT_EQ(forward.count, 4);
  EXPECT_EQ(forward.bytes, 4 * kActivation);
  const Row backward = Sum(plan, "send", "gradient of the residual stream", 1);
  EXPECT_EQ(backward.count, 4);
  EXPECT_EQ(backward.bytes, 4 * kActivation);
  EXPECT_EQ(Sum(plan, "send", "gradient", 0).count, 0);
}

// Everything that is not a parameter, gradient or state is an activation, so the parts are the
// arena.
TEST(Summarize, MemoryIsTheArena) {
  Plan plan = MustPlan(SmallJob({"mesh.axes={stage: 2, data: 2, model: 2}"}), Devices(8));
  ASSERT_EQ(plan.memory.size(), 2u);
  for (size_t s = 0; s < 2; ++s) {
    const MemoryPlan& memory = plan.memory[s];
    EXPECT_EQ(memory.total, plan.programs[s].ArenaBytes());
    EXPECT_EQ(memory.params + memory.grads + memory.optimizer + memory.activations, memory.total);
    EXPECT_EQ(memory.optimizer, 2 * memory.params) << "two states, sharded like the parameters";
    EXPECT_EQ(memory.grads, memory.params);
    EXPECT_GT(memory.activations, 0);
    EXPECT_EQ(memory.reserve, 0) << "cpu";
  }
  plan.memory.clear();
  Summarize(/*reserve_bytes=*/100, &plan);
  EXPECT_EQ(plan.memory[0].reserve, 100);
}

TEST(Summarize, ParametersAreListedOnceWithTheirShards) {
  const Plan plan = MustPlan(
      SmallJob({"mesh.axes={stage: 2, data: 2, model: 2}", "model.tie_word_embeddings=true"}),
      Devices(8));
  EXPECT_EQ(plan.parameters.size(), 2u * 9 + 2) << "the tied table once";
  int64_t stages[2] = {};
  for (const ParameterPlan& parameter : plan.parameters) {
    ++stages[parameter.stage];
    int64_t shards = 1;
    ASSERT_EQ(parameter.shape.size(), parameter.local_shape.size());
    for (size_t i = 0; i < parameter.shape.size(); ++i)
      shards *= CeilDiv(parameter.shape[i], parameter.local_shape[i]);
    EXPECT_EQ(parameter.slices, shards) << parameter.name;
    if (parameter.name != "model.layers.0.mlp.down_proj.weight") continue;
    EXPECT_EQ(parameter.spec, "[mlp/model, embed/data]");
    EXPECT_EQ(parameter.local_shape, (std::vector<int64_t>{6, 4}));
    EXPECT_EQ(parameter.slices, 4);
  }
  EXPECT_EQ(stages[0], 10);
  EXPECT_EQ(stages[1], 10);
}

}  // namespace
}  // namespace trireme
