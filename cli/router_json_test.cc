// The keys are promised to scripts.
#include "cli/router_json.h"

#include "gtest/gtest.h"

namespace trireme {
namespace {

v1::StepMetrics Step() {
  v1::StepMetrics step;
  v1::RouterTotals& totals = *step.mutable_router();
  totals.set_cross_entropy_loss(3.25);
  totals.set_load_balancing_loss(0.02);
  totals.set_router_z_loss(0.003);
  totals.set_routing_entropy_mean(1.5);
  totals.set_load_max_over_mean(1.75);
  totals.set_assignments(1000);
  totals.set_sender_dropped(10);
  totals.set_receiver_dropped(40);
  totals.set_skipped_padding(6);
  totals.set_extra_waves(3);
  v1::RouterMetrics& router = *step.add_routers();
  router.set_layer(11);
  router.set_routing_entropy(1.5);
  for (const float load : {0.1f, 1.0f / 3, 0.0f}) router.add_loads(load);
  return step;
}

TEST(RouterJson, HasThePromisedKeys) {
  nlohmann::ordered_json json;
  AddRouterJson(Step(), json);
  EXPECT_EQ(json.dump(),
            R"({"train/cross_entropy_loss":3.25,"train/load_balancing_loss":0.02,)"
            R"("train/router_z_loss":0.003,"train/router/routing_entropy_mean":1.5,)"
            R"("train/router/load_max_over_mean":1.75,)"
            R"("train/router/capacity_overflow_rate_mean":0.05,"moe/valid_assignments":1000,)"
            R"("moe/dropped_assignments":50,"moe/sender_dropped_assignments":10,)"
            R"("moe/receiver_dropped_assignments":40,"moe/skipped_padding_assignments":6,)"
            R"("moe/extra_waves":3,"moe/layer11/routing_entropy":1.5,)"
            R"("moe/layer11/expert0_load":0.1,"moe/layer11/expert1_load":0.3333333,)"
            R"("moe/layer11/expert2_load":0.0})");
}

TEST(RouterJson, OfOldStepsHasTheTotalsOnly) {
  v1::StepMetrics step = Step();
  step.clear_routers();
  nlohmann::ordered_json json;
  AddRouterJson(step, json);
  EXPECT_EQ(json.size(), 12u);
}

TEST(RouterJson, OfDenseModelsIsEmpty) {
  nlohmann::ordered_json json;
  AddRouterJson({}, json);
  EXPECT_TRUE(json.empty());
}

TEST(RouterJson, DividesNothingByNothing) {
  v1::StepMetrics step;
  step.mutable_router();
  nlohmann::ordered_json json;
  AddRouterJson(step, json);
  EXPECT_EQ(json["train/router/capacity_overflow_rate_mean"], 0.0);
}

}  // namespace
}  // namespace trireme
