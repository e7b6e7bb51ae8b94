// Parts the backward of a segment: what the gradient for the segment before it needs stays in phase
// B, the rest (gradients of parameters) becomes phase W, which a pipeline order may put off. Qi et
// al. 2023, arXiv:2401.10241.
#ifndef TRIREME_COORDINATOR_COMPILER_PASSES_SPLIT_WEIGHT_GRAD_H_
#define TRIREME_COORDINATOR_COMPILER_PASSES_SPLIT_WEIGHT_GRAD_H_

#include "common/ir/graph.h"

namespace trireme {

// Nodes of phase B that are no ancestors of graph.grad_edges_in get phase W and stand last.
void SplitWeightGrad(Graph& graph);

}  // namespace trireme

#endif  // TRIREME_COORDINATOR_COMPILER_PASSES_SPLIT_WEIGHT_GRAD_H_
