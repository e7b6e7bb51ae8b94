// Layer by layer; totals are made of the layers, so that the two cannot disagree.
#include "worker/rank/router_metrics.h"

#include <algorithm>
#include <cmath>

#include "common/base/check.h"
#include "kernels/ops/router_stats/layout.h"

namespace trireme {
namespace {

double Ratio(double sum, double count) { return count > 0 ? sum / count : 0; }

// One router's sums, RouterStatSize(experts) numbers. `weight`: of the step's loss.
v1::RouterMetrics LayerMetrics(const double* stats, int32_t layer, int64_t experts, int64_t choices,
                               double weight) {
  v1::RouterMetrics metrics;
  metrics.set_layer(layer);
  double assignments = 0;
  for (int64_t e = 0; e < experts; ++e) assignments += stats[kRouterLoads + e];
  for (int64_t e = 0; e < experts; ++e) {
    metrics.add_loads(static_cast<float>(Ratio(stats[kRouterLoads + e], assignments)));
  }
  metrics.set_routing_entropy(Ratio(stats[kRouterEntropy], stats[kRouterTokens]));
  metrics.set_load_balancing_loss(Ratio(stats[kRouterBalanceLoss], weight));
  metrics.set_router_z_loss(Ratio(stats[kRouterZLoss], weight));
  metrics.set_assignments(std::llround(assignments));
  metrics.set_sender_dropped(std::llround(stats[kRouterSenderDrops]));
  metrics.set_receiver_dropped(std::llround(stats[kRouterReceiverDrops]));
  metrics.set_skipped_padding(std::llround(stats[kRouterPadding]) * choices);
  metrics.set_extra_waves(std::llround(stats[kRouterExtraWaves]));
  return metrics;
}

void AddTo(v1::RouterTotals& totals, const v1::RouterMetrics& layer) {
  const auto& loads = layer.loads();
  const double largest = *std::max_element(loads.begin(), loads.end());
  totals.set_load_max_over_mean(std::max(totals.load_max_over_mean(), largest * loads.size()));
  totals.set_assignments(totals.assignments() + layer.assignments());
  totals.set_sender_dropped(totals.sender_dropped() + layer.sender_dropped());
  totals.set_receiver_dropped(totals.receiver_dropped() + layer.receiver_dropped());
  totals.set_skipped_padding(totals.skipped_padding() + layer.skipped_padding());
  totals.set_extra_waves(totals.extra_waves() + layer.extra_waves());
}

}  // namespace

void AddRouterMetrics(const ScalarPlacement& scalars, const StepResult& result,
                      v1::StepMetrics& metrics) {
  const auto num_layers = static_cast<int64_t>(scalars.router_layers.size());
  if (num_layers == 0) return;
  const int64_t size = RouterStatSize(scalars.router_experts);
  CHECK_EQ(static_cast<int64_t>(result.router_stats.size()), num_layers * size);
  v1::RouterTotals& totals = *metrics.mutable_router();
  double balance = 0, z = 0, entropy = 0;
  for (int64_t i = 0; i < num_layers; ++i) {
    v1::RouterMetrics& layer = *metrics.add_routers();
    layer = LayerMetrics(result.router_stats.data() + i * size, scalars.router_layers[i],
                         scalars.router_experts, scalars.router_choices, result.tokens);
    balance += layer.load_balancing_loss();
    z += layer.router_z_loss();
    entropy += layer.routing_entropy();
    AddTo(totals, layer);
  }
  totals.set_load_balancing_loss(scalars.router_balance_coef * balance);
  totals.set_router_z_loss(scalars.router_z_coef * z);
  totals.set_cross_entropy_loss(result.loss - totals.load_balancing_loss() -
                                totals.router_z_loss());
  totals.set_routing_entropy_mean(entropy / static_cast<double>(num_layers));
}

}  // namespace trireme
