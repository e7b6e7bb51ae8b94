// Transfers beside arithmetic. Where a product needs what an all_gather brings, or a reduce_scatter
// takes what a product makes, both are cut into the blocks of the ring: the own block is multiplied
// while the others travel, and blocks of rows are laid side by side, never summed (semantics: what
// async column- and row-parallel layers compute). Other collectives of the same axes start as early
// as their inputs allow.
#ifndef TRIREME_COORDINATOR_COMPILER_PASSES_OVERLAP_H_
#define TRIREME_COORDINATOR_COMPILER_PASSES_OVERLAP_H_

#include <cstdint>
#include <set>

#include "common/ir/graph.h"

namespace trireme {

struct OverlapOptions {
  std::set<int> ring_axes;   // gathers and scatters of one of these are cut into rings
  std::set<int> async_axes;  // collectives over these alone run beside what follows
  int64_t chunks = 1;        // pieces of a block that travel on their own
};

// After fusing accumulations. `graph` is of one rank.
void Overlap(Graph& graph, const Mesh& mesh, const OverlapOptions& options);

}  // namespace trireme

#endif  // TRIREME_COORDINATOR_COMPILER_PASSES_OVERLAP_H_
