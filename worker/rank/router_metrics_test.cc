// Means, shares and losses of hand-made sums.
#include "worker/rank/router_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/ops/router_stats/layout.h"

namespace trireme {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

// Layers 1 and 3 with 4 experts, 2 a token: 10 tokens and 3 of padding. Layer 1 is balanced, layer
// 3 sends half of its assignments to expert 2 and none to expert 3.
struct TwoLayers {
  ScalarPlacement scalars{.router_layers = {1, 3},
                          .router_experts = 4,
                          .router_choices = 2,
                          .router_balance_coef = 0.01,
                          .router_z_coef = 0.001};
  StepResult result{.loss = 3.0, .tokens = 8, .router_stats = std::vector<double>(2 * 16)};

  TwoLayers() {
    double* first = result.router_stats.data();
    double* second = first + RouterStatSize(4);
    for (double* stats : {first, second}) {
      stats[kRouterTokens] = 10;
      stats[kRouterPadding] = 3;
    }
    first[kRouterEntropy] = 12;
    second[kRouterEntropy] = 4;
    first[kRouterBalanceLoss] = 8;    // 1 for each unit of weight
    second[kRouterBalanceLoss] = 16;  // 2
    first[kRouterZLoss] = 4;          // 0.5
    second[kRouterZLoss] = 12;        // 1.5
    second[kRouterSenderDrops] = 1;
    second[kRouterReceiverDrops] = 2;
    second[kRouterExtraWaves] = 5;
    for (int e = 0; e < 4; ++e) first[kRouterLoads + e] = 5;
    const double loads[] = {5, 5, 10, 0};
    for (int e = 0; e < 4; ++e) second[kRouterLoads + e] = loads[e];
    for (int e = 0; e < 4; ++e) second[RouterBetas(4) + e] = 1e6;  // no business of anyone here
  }
};

TEST(RouterMetrics, AreMeansAndSharesOfEveryLayer) {
  const TwoLayers two;
  v1::StepMetrics metrics;
  AddRouterMetrics(two.scalars, two.result, metrics);
  ASSERT_THAT(metrics.routers(), SizeIs(2));
  const v1::RouterMetrics& first = metrics.routers(0);
  EXPECT_EQ(first.layer(), 1);
  EXPECT_THAT(first.loads(), ElementsAre(0.25f, 0.25f, 0.25f, 0.25f));
  EXPECT_EQ(first.routing_entropy(), 1.2);
  EXPECT_EQ(first.load_balancing_loss(), 1.0);
  EXPECT_EQ(first.router_z_loss(), 0.5);
  EXPECT_EQ(first.assignments(), 20);
  EXPECT_EQ(first.skipped_padding(), 6);
  EXPECT_EQ(first.sender_dropped() + first.receiver_dropped() + first.extra_waves(), 0);
  const v1::RouterMetrics& second = metrics.routers(1);
  EXPECT_EQ(second.layer(), 3);
  EXPECT_THAT(second.loads(), ElementsAre(0.25f, 0.25f, 0.5f, 0.0f));
  EXPECT_EQ(second.load_balancing_loss(), 2.0);
  EXPECT_EQ(second.sender_dropped(), 1);
  EXPECT_EQ(second.receiver_dropped(), 2);
  EXPECT_EQ(second.extra_waves(), 5);
}

TEST(RouterMetrics, TotalsTellTheCrossEntropyApart) {
  const TwoLayers two;
  v1::StepMetrics metrics;
  AddRouterMetrics(two.scalars, two.result, metrics);
  const v1::RouterTotals& totals = metrics.router();
  EXPECT_DOUBLE_EQ(totals.load_balancing_loss(), 0.01 * (1 + 2));
  EXPECT_DOUBLE_EQ(totals.router_z_loss(), 0.001 * (0.5 + 1.5));
  EXPECT_DOUBLE_EQ(totals.cross_entropy_loss(), 3.0 - 0.03 - 0.002);
  EXPECT_DOUBLE_EQ(totals.routing_entropy_mean(), 0.8);
  EXPECT_DOUBLE_EQ(totals.load_max_over_mean(), 2.0);
  EXPECT_EQ(totals.assignments(), 40);
  EXPECT_EQ(totals.sender_dropped(), 1);
  EXPECT_EQ(totals.receiver_dropped(), 2);
  EXPECT_EQ(totals.skipped_padding(), 12);
  EXPECT_EQ(totals.extra_waves(), 5);
}

TEST(RouterMetrics, OfAStepWithoutTokensAreZero) {
  TwoLayers two;
  two.result = {.loss = 0, .tokens = 0, .router_stats = std::vector<double>(2 * 16)};
  v1::StepMetrics metrics;
  AddRouterMetrics(two.scalars, two.result, metrics);
  EXPECT_THAT(metrics.routers(0).loads(), ElementsAre(0, 0, 0, 0));
  EXPECT_EQ(metrics.routers(0).routing_entropy(), 0);
  EXPECT_EQ(metrics.router().load_max_over_mean(), 0);
  EXPECT_EQ(metrics.router().cross_entropy_loss(), 0);
}

TEST(RouterMetrics, DenseModelsHaveNone) {
  v1::StepMetrics metrics;
  AddRouterMetrics({}, {.loss = 2, .tokens = 8}, metrics);
  EXPECT_FALSE(metrics.has_router());
  EXPECT_TRUE(metrics.routers().empty());
}

}  // namespace
}  // namespace trireme
