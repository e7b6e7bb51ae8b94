// What the routers of a mixture of experts did in a step, under the names that scripts know.
#ifndef TRIREME_CLI_ROUTER_JSON_H_
#define TRIREME_CLI_ROUTER_JSON_H_

#include "nlohmann/json.hpp"
#include "trireme/v1/rank.pb.h"

namespace trireme {

// Adds train/cross_entropy_loss, train/load_balancing_loss, train/router_z_loss,
// train/router/routing_entropy_mean, train/router/load_max_over_mean,
// train/router/capacity_overflow_rate_mean (dropped of all assignments), the counters
// moe/{valid,dropped,sender_dropped,receiver_dropped,skipped_padding}_assignments and
// moe/extra_waves, and of every layer moe/layer{i}/routing_entropy and moe/layer{i}/expert{j}_load
// (its share of the assignments, 7 digits). Adds nothing for dense models, and no layers where the
// coordinator no longer has them.
void AddRouterJson(const v1::StepMetrics& step, nlohmann::ordered_json& json);

}  // namespace trireme

#endif  // TRIREME_CLI_ROUTER_JSON_H_
