// Which collectives that run beside the computation must be over before an instruction starts.
// Derived from the bytes that instructions touch, never written down: executor, interpreter and
// prediction all ask here.
#ifndef TRIREME_COMMON_PLAN_HAZARDS_H_
#define TRIREME_COMMON_PLAN_HAZARDS_H_

#include <cstdint>
#include <vector>

#include "common/plan/resolve.h"

namespace trireme {

// For each instruction, how many of the async collectives that stand before it (counted from the
// first of `instructions`, in order: they finish in order) must be over before it starts. One that
// is async itself needs none, because collectives run one after the other; one that is not waits
// for all of them.
std::vector<int32_t> FindWaits(const StageProgram& program,
                               const std::vector<ResolvedInstruction>& instructions);

}  // namespace trireme

#endif  // TRIREME_COMMON_PLAN_HAZARDS_H_
