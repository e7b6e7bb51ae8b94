// Reverse-mode differentiation of one segment: each op knows its gradient as other ops.
#ifndef TRIREME_COORDINATOR_COMPILER_AUTODIFF_AUTODIFF_H_
#define TRIREME_COORDINATOR_COMPILER_AUTODIFF_AUTODIFF_H_

#include "common/base/status.h"
#include "common/ir/graph.h"

namespace trireme {

// Appends the backward nodes to a forward `graph` (phase B) and fills grad_edges_in, grad_edges_out
// and tensor_grads. The loss, if any, is seeded with `loss_seed` (its gradient: 1 / expected
// tokens). Nodes that no gradient needs are dropped. Errors: kUnimplemented when an op on a path to
// a parameter has no gradient.
Status AddBackward(Graph& graph, double loss_seed);

}  // namespace trireme

#endif  // TRIREME_COORDINATOR_COMPILER_AUTODIFF_AUTODIFF_H_
