// The check that ops on one wave of a plan share.
#ifndef TRIREME_KERNELS_OPS_DISPATCH_PLAN_CHECK_WAVE_H_
#define TRIREME_KERNELS_OPS_DISPATCH_PLAN_CHECK_WAVE_H_

#include <string>

#include "kernels/ops/infer_util.h"

namespace trireme {

// Attribute `wave` is an index of dim `waves`.
inline Status CheckWave(const Node& node, const Dim& waves) {
  RETURN_IF_ERROR(CheckAttrs(node, {"wave"}));
  const int64_t wave = node.attrs.GetInt("wave");
  if (wave >= 0 && wave < waves.size) return absl::OkStatus();
  return OpError(
      node, "wave=" + std::to_string(wave) + " must be in [0, " + std::to_string(waves.size) + ")");
}

}  // namespace trireme

#endif  // TRIREME_KERNELS_OPS_DISPATCH_PLAN_CHECK_WAVE_H_
