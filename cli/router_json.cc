// Totals first, then the layers in order.
#include "cli/router_json.h"

#include <cstdio>
#include <cstdlib>
#include <string>

namespace trireme {
namespace {

// As many digits as a float has, so that 0.1 is not printed as 0.10000000149.
double Rounded(float value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.7g", static_cast<double>(value));
  return std::strtod(text, nullptr);
}

}  // namespace

void AddRouterJson(const v1::StepMetrics& step, nlohmann::ordered_json& json) {
  if (!step.has_router()) return;
  const v1::RouterTotals& totals = step.router();
  const int64_t dropped = totals.sender_dropped() + totals.receiver_dropped();
  const auto assignments = static_cast<double>(totals.assignments());
  json["train/cross_entropy_loss"] = totals.cross_entropy_loss();
  json["train/load_balancing_loss"] = totals.load_balancing_loss();
  json["train/router_z_loss"] = totals.router_z_loss();
  json["train/router/routing_entropy_mean"] = totals.routing_entropy_mean();
  json["train/router/load_max_over_mean"] = totals.load_max_over_mean();
  json["train/router/capacity_overflow_rate_mean"] =
      assignments > 0 ? static_cast<double>(dropped) / assignments : 0.0;
  json["moe/valid_assignments"] = totals.assignments();
  json["moe/dropped_assignments"] = dropped;
  json["moe/sender_dropped_assignments"] = totals.sender_dropped();
  json["moe/receiver_dropped_assignments"] = totals.receiver_dropped();
  json["moe/skipped_padding_assignments"] = totals.skipped_padding();
  json["moe/extra_waves"] = totals.extra_waves();
  for (const v1::RouterMetrics& router : step.routers()) {
    const std::string layer = "moe/layer" + std::to_string(router.layer());
    json[layer + "/routing_entropy"] = router.routing_entropy();
    for (int e = 0; e < router.loads_size(); ++e) {
      json[layer + "/expert" + std::to_string(e) + "_load"] = Rounded(router.loads(e));
    }
  }
}

}  // namespace trireme
