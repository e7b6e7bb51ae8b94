// Checks a program that came over the wire before anything runs: whatever the bytes say, no operand
// of any rank may lie outside its pool, and no index may miss its table.
#ifndef TRIREME_COMMON_PLAN_VALIDATE_H_
#define TRIREME_COMMON_PLAN_VALIDATE_H_

#include <cstdint>

#include "common/base/status.h"
#include "common/mesh/mesh.h"
#include "common/plan/program.h"

namespace trireme {

// Elements of the scalar blocks, as kernels/ops/step_control/layout.h lays them out.
inline constexpr int64_t kControlEntries = 16;
inline constexpr int64_t kReduceEntries = 4;
// Sums of a router beside its two numbers an expert (kernels/ops/router_stats/layout.h).
inline constexpr int64_t kRouterScalars = 8;

// Checks every view of every instance at the extremes of the rank coordinates, the shapes and
// groups of collectives, and the places of tensors, inputs, scalars and edges. That kernels agree
// with the shapes of their operands is the compiler's promise, and whether the ops exist is asked
// by who runs them. Errors: kInvalidArgument naming the instruction or tensor, its bytes and the
// pool's.
Status ValidateProgram(const StageProgram& program, const Mesh& mesh);

// Checks slots, microbatches and peers. Errors: kInvalidArgument naming the item.
Status ValidateSchedule(const StageProgram& program, const StepSchedule& schedule,
                        int64_t num_stages, int64_t num_microbatches);

}  // namespace trireme

#endif  // TRIREME_COMMON_PLAN_VALIDATE_H_
