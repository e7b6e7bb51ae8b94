// Predictions of whole plans: closed forms of pipelines where costs are equal, sums that add up,
// and limits that are felt.
#include "coordinator/planner/predict.h"

#include <chrono>

#include "coordinator/compiler/orders/order.h"
#include "coordinator/planner/report.h"
#include "coordinator/planner/test_jobs.h"

namespace trireme {
namespace {

// Every stage runs one kernel in F (1 s) and one in B (2 s); messages have `edge_bytes`.
Plan EqualStages(const std::string& order, int32_t stages, int32_t microbatches,
                 int64_t edge_bytes) {
  Plan plan;
  plan.mesh = *Mesh::Create({{"stage", stages}});
  plan.stage_axis = 0;
  plan.run.num_microbatches = microbatches;
  plan.schedules = *BuildSchedules(order, stages, microbatches);
  for (int32_t stage = 0; stage < stages; ++stage) {
    StageProgram program;
    program.stage = stage;
    program.codes = {{.name = "F", .instructions = {{.op = "dot", .flops = 1e9}}},
                     {.name = "B", .instructions = {{.op = "dot", .flops = 2e9}}}};
    program.chunks[0].forward = {{.code = 0}};
    program.chunks[0].backward = {{.code = 1}};
    if (stage + 1 < stages) program.chunks[0].edges_out = {{{}, edge_bytes}};
    if (stage > 0) program.chunks[0].grad_edges_in = {{{}, edge_bytes}};
    plan.programs.push_back(program);
  }
  return plan;
}

Topology OneHost(int64_t devices) {
  return {.device = {.name = "cpu", .flops = 1e9, .ici = {100, 0}}, .hosts = {{"a", 0, devices}}};
}

TEST(Predict, PipelinesOfEqualStagesFollowTheClosedForm) {
  for (const char* order : {"gpipe", "1f1b"}) {
    for (const auto& [stages, microbatches] :
         std::vector<std::pair<int32_t, int32_t>>{{1, 3}, {2, 4}, {4, 8}, {4, 4}}) {
      Plan plan = EqualStages(order, stages, microbatches, 0);
      Predict(OneHost(stages), {}, &plan);
      const double slots = microbatches + stages - 1;
      EXPECT_DOUBLE_EQ(plan.prediction.step_s, slots * 3) << order << " " << stages;
      EXPECT_NEAR(plan.prediction.bubble, (stages - 1) / slots, 1e-12) << order << " " << stages;
      ASSERT_EQ(plan.prediction.stages.size(), static_cast<size_t>(stages));
      for (const StagePrediction& stage : plan.prediction.stages) {
        EXPECT_DOUBLE_EQ(stage.busy_s(), microbatches * 3);
        EXPECT_NEAR(stage.busy_s() + stage.waits_s, plan.prediction.step_s, 1e-9);
      }
    }
  }
}

// F 1, message 0.5, F 1, B 2, message 0.5, B 2.
TEST(Predict, MessagesBetweenStagesTakeTheirTime) {
  Plan plan = EqualStages("gpipe", 2, 1, 50);
  plan.collectives = {{.op = "send", .tensor = "residual stream", .stage = 0},
                      {.op = "send", .tensor = "gradient of the residual stream", .stage = 1}};
  Predict(OneHost(2), {}, &plan);
  EXPECT_DOUBLE_EQ(plan.prediction.step_s, 7);
  EXPECT_DOUBLE_EQ(plan.prediction.stages[1].sends_s, 1);
  EXPECT_DOUBLE_EQ(plan.prediction.stages[1].waits_s, 1 + 2);
  // Stage 0 sends and receives in one exchange, which counts as waiting until its last peer is
  // there.
  EXPECT_DOUBLE_EQ(plan.prediction.stages[0].sends_s, 0.5);
  EXPECT_DOUBLE_EQ(plan.prediction.stages[0].waits_s, 0.5 + 3);
  for (const CollectivePlan& one : plan.collectives) EXPECT_DOUBLE_EQ(one.exposed_s, 0.5);
}

double Hidden(const Plan& plan) {
  double sum = 0;
  for (const StagePrediction& stage : plan.prediction.stages) sum += stage.hidden_s;
  return sum;
}

// What the collectives hide and expose is what the stages say, and a step is made of its parts.
TEST(Predict, PartsAddUp) {
  for (const char* axes :
       {"{data: 8}", "{data: 4, model: 2}", "{stage: 2, data: 2, model: 2}", "{stage: 2}"}) {
    const Plan plan = MustPlan(
        SmallJob({std::string("mesh.axes=") + axes, "train.microbatch_size=1"}), Devices(8));
    ASSERT_GT(plan.prediction.step_s, 0) << axes;
    for (size_t s = 0; s < plan.prediction.stages.size(); ++s) {
      const StagePrediction& stage = plan.prediction.stages[s];
      double hidden = 0;
      double exposed = 0;
      for (const CollectivePlan& one : plan.collectives) {
        if (one.stage != static_cast<int32_t>(s)) continue;
        if (one.group >= 0) {
          hidden += one.hidden_s;
          exposed += one.exposed_s;
        }
        EXPECT_GT(one.hidden_s + one.exposed_s, 0) << axes << ": " << one.op << " " << one.tensor;
      }
      EXPECT_NEAR(hidden, stage.hidden_s, 1e-12) << axes;
      EXPECT_NEAR(exposed, stage.exposed_s, 1e-12) << axes;
      EXPECT_NEAR(stage.busy_s() + stage.sends_s + stage.waits_s, plan.prediction.step_s, 1e-12)
          << axes;
    }
  }
}

TEST(Predict, AsyncTensorParallelismHidesTransfersAndSyncDoesNot) {
  const std::vector<std::string> sync = {"mesh.axes={data: 1, model: 2}",
                                         "tensor_parallel={mode: reduce_scatter}"};
  const std::vector<std::string> async = {"mesh.axes={data: 1, model: 2}",
                                          "tensor_parallel={mode: reduce_scatter, async: true}"};
  EXPECT_EQ(Hidden(MustPlan(SmallJob(sync), Devices(2))), 0);
  EXPECT_GT(Hidden(MustPlan(SmallJob(async), Devices(2))), 0);
}

TEST(Predict, LimitsSlowOnlyJobsThatCrossThem) {
  const std::vector<std::string> free = {"mesh.axes={data: 2}"};
  const std::vector<std::string> limited = {"mesh.axes={data: 2}", "network.ici.mbit_per_s=1"};
  const auto step_s = [](const std::vector<std::string>& overrides, std::vector<Host> hosts) {
    const Topology topology = *MakeTopology(*FindDeviceKind("cpu"), std::move(hosts));
    return MustPlan(SmallJob(overrides), topology).prediction.step_s;
  };
  const std::vector<Host> two = {{"a", 0, 1}, {"b", 0, 1}};
  EXPECT_GT(step_s(limited, two), 2 * step_s(free, two));
  EXPECT_EQ(step_s(limited, {{"a", 0, 2}}), step_s(free, {{"a", 0, 2}}));
}

TEST(Predict, SaysWhereTheSpeedsAreFrom) {
  EXPECT_EQ(MustPlan(SmallJob(), Devices(1)).prediction.source, "uncalibrated");
  EXPECT_NE(MustPlan(SmallJob(), Devices(1, "h100")).prediction.source, "uncalibrated");
}

TEST(PlanGrid, DrawsEveryOrder) {
  for (const std::string_view order : OrderNames()) {
    const Plan plan =
        MustPlan(SmallJob({"mesh.axes={stage: 2, data: 1}", "model.num_hidden_layers=8",
                           "train.microbatch_size=1", "pipeline.order=" + std::string(order)}),
                 Devices(2));
    const std::string text = PlanGrid(plan);
    EXPECT_NE(text.find("stage 0 | "), std::string::npos) << order;
    EXPECT_NE(text.find("\nstage 1 | "), std::string::npos) << order;
    EXPECT_NE(text.find("B0"), std::string::npos) << order;
    EXPECT_NE(text.find("bubble "), std::string::npos) << order;
  }
}

// As cheap for 16,384 ranks as for one a stage.
TEST(Predict, TakesLessThanHalfASecondFor405B) {
  const StatusOr<Topology> fleet = ParseFleet(
      "{device: h100, slices: 1, hosts_per_slice: 2048, devices_per_host: 8}", "fleet.yaml");
  ASSERT_TRUE(fleet.ok()) << fleet.status();
  Plan plan = MustPlan(Job405B(), *fleet);
  const auto start = std::chrono::steady_clock::now();
  Predict(*fleet, {}, &plan);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  std::cout << "predicted 405B in " << static_cast<int>(took.count() * 1000) << " ms: a step of "
            << plan.prediction.step_s << " s\n";
  EXPECT_LT(took.count(), 0.5);
  EXPECT_GT(plan.prediction.step_s, 1);
}

}  // namespace
}  // namespace trireme
