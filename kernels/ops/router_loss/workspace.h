// The memory in which the router's GPU kernels keep sums over chunks of tokens: a record of
// doubles a chunk; a group's first record becomes the group's.
#ifndef TRIREME_KERNELS_OPS_ROUTER_LOSS_WORKSPACE_H_
#define TRIREME_KERNELS_OPS_ROUTER_LOSS_WORKSPACE_H_

#include <cstdint>

namespace trireme {

inline constexpr int64_t kRouterChunkTokens = 128;
// Numbers of a record before `experts` counts and then as many sums of p.
inline constexpr int64_t kRouterHead = 6;

inline constexpr int64_t RouterRecord(int64_t experts) { return kRouterHead + 2 * experts; }
inline constexpr int64_t RouterChunks(int64_t group_tokens) {
  return (group_tokens + kRouterChunkTokens - 1) / kRouterChunkTokens;
}
inline constexpr int64_t RouterSumsBytes(int64_t groups, int64_t group_tokens, int64_t experts) {
  return 8 * groups * RouterChunks(group_tokens) * RouterRecord(experts);
}

// With the quantiles' numbers behind the records: a float a token, and an expert and group.
inline constexpr int64_t RouterStatsBytes(int64_t groups, int64_t group_tokens, int64_t experts) {
  return RouterSumsBytes(groups, group_tokens, experts) + 4 * groups * (group_tokens + experts);
}

}  // namespace trireme

#endif  // TRIREME_KERNELS_OPS_ROUTER_LOSS_WORKSPACE_H_
