// Rematerialisation: the backward of a segment recomputes its forward from the segment's inputs
// instead of reading saved values. Runs after partition, so that collectives are recomputed too,
// and once each.
#ifndef TRIREME_COORDINATOR_COMPILER_PASSES_REMATERIALIZE_H_
#define TRIREME_COORDINATOR_COMPILER_PASSES_REMATERIALIZE_H_

#include "common/ir/graph.h"

namespace trireme {

// Clones into phase B every forward node that the backward depends on. Afterwards B reads no
// temporary of F.
void Rematerialize(Graph& graph);

}  // namespace trireme

#endif  // TRIREME_COORDINATOR_COMPILER_PASSES_REMATERIALIZE_H_
