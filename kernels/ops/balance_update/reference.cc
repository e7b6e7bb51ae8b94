// New biases, or the old ones: when the step is not applied, saw no token, or its statistics are
// not finite (a bias would keep what one bad step gave it).
#include <cmath>

#include "kernels/ops/kernel.h"
#include "kernels/ops/reference_util.h"
#include "kernels/ops/router_stats/layout.h"
#include "kernels/ops/step_control/layout.h"

namespace trireme {
namespace {

double Mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

double Sign(double x) { return x > 0 ? 1 : x < 0 ? -1 : 0; }

}  // namespace

void Reference_balance_update(const KernelArgs& args) {
  const double* stats = args.in[1].f64();
  const bool is_quantile = args.attrs.GetString("rule") == "quantile";
  std::vector<double> bias = LoadAll(args.in[0]);
  const int64_t experts = args.in[0].count();
  const double* first = stats + (is_quantile ? RouterBetas(experts) : kRouterLoads);
  const std::vector<double> values(first, first + experts);
  const double mean = Mean(values);
  if (args.in[2].f64()[kControlApply] != 0 && stats[kRouterTokens] > 0 && std::isfinite(mean)) {
    for (int64_t e = 0; e < experts; ++e) {
      bias[e] = is_quantile ? (mean - values[e]) / stats[kRouterTokens]
                            : bias[e] + args.attrs.GetDouble("rate") * Sign(mean - values[e]);
    }
  }
  StoreAll(args.out[0], bias);
}

}  // namespace trireme
