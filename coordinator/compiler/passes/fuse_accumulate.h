// Lets kernels add straight into the gradient accumulators where they can, instead of writing a
// temporary that is added.
#ifndef TRIREME_COORDINATOR_COMPILER_PASSES_FUSE_ACCUMULATE_H_
#define TRIREME_COORDINATOR_COMPILER_PASSES_FUSE_ACCUMULATE_H_

#include "common/ir/graph.h"

namespace trireme {

// Removes "accumulate" nodes whose input is an accumulating output of its producer that nobody else
// reads, when all accumulating outputs of that producer can go the same way.
void FuseAccumulate(Graph& graph);

}  // namespace trireme

#endif  // TRIREME_COORDINATOR_COMPILER_PASSES_FUSE_ACCUMULATE_H_
