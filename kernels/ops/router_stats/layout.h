// Where each number of a router's statistics stands: sums over balance groups (and so over ranks,
// microbatches and a step), float64.
#ifndef TRIREME_KERNELS_OPS_ROUTER_STATS_LAYOUT_H_
#define TRIREME_KERNELS_OPS_ROUTER_STATS_LAYOUT_H_

#include <cstdint>

namespace trireme {

inline constexpr int kRouterTokens = 0;         // valid tokens
inline constexpr int kRouterPadding = 1;        // padding tokens
inline constexpr int kRouterEntropy = 2;        // sum over valid tokens of the entropy of p
inline constexpr int kRouterBalanceLoss = 3;    // sum_g w_g E sum_e load_ge P_ge
inline constexpr int kRouterZLoss = 4;          // sum_g w_g mean_t lse_t^2
inline constexpr int kRouterSenderDrops = 5;    // assignments; those that dispatch adds
inline constexpr int kRouterReceiverDrops = 6;  // assignments; those that dispatch adds
inline constexpr int kRouterExtraWaves = 7;     // waves beyond the first; dispatch adds them
inline constexpr int kRouterLoads = 8;          // E numbers: assignments of each expert

// First of the E numbers sum_g T_g beta_ge, beta as in quantile balancing.
inline constexpr int64_t RouterBetas(int64_t num_experts) { return kRouterLoads + num_experts; }
// All numbers.
inline constexpr int64_t RouterStatSize(int64_t num_experts) {
  return kRouterLoads + 2 * num_experts;
}

}  // namespace trireme

#endif  // TRIREME_KERNELS_OPS_ROUTER_STATS_LAYOUT_H_
