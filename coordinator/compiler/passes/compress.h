// Gradients between slices in fewer bytes: a sum over DCN becomes quantise, exchange, add, quantise
// again, gather. What rounding leaves out is kept and added the next time (error feedback: Seide et
// al. 2014; Karimireddy et al. 2019, arXiv:1901.09847).
#ifndef TRIREME_COORDINATOR_COMPILER_PASSES_COMPRESS_H_
#define TRIREME_COORDINATOR_COMPILER_PASSES_COMPRESS_H_

#include "common/config/job_spec.h"
#include "common/ir/graph.h"

namespace trireme {

// Rewrites the float32 sums over DCN of phase U1 of a tensor's update graph. The errors are new
// kState values, numbered from `first_slot`; they are of one rank and in no checkpoint.
void Compress(Graph& graph, const Mesh& mesh, Compression compression, int first_slot);

}  // namespace trireme

#endif  // TRIREME_COORDINATOR_COMPILER_PASSES_COMPRESS_H_
