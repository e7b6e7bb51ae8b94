// A partitioned segment -> code: nodes become instructions on views, collectives get the packs
// their memory order needs, temporaries get places.
#ifndef TRIREME_COORDINATOR_COMPILER_PASSES_LOWER_H_
#define TRIREME_COORDINATOR_COMPILER_PASSES_LOWER_H_

#include <string>
#include <vector>

#include "common/ir/graph.h"
#include "common/plan/program.h"
#include "coordinator/compiler/passes/code_builder.h"

namespace trireme {

// What of a phase: gathers of parameters that may run ahead, or the rest (all of it when the layout
// was made without prefetch).
enum class CodePart : uint8_t { kGathers, kBody };

// Decides where values that cross phases live. Values handed to other segments that are not
// temporaries of their own get a copy node first (so `graph` may grow). With `prefetch` gathers of
// parameters in F and B write to memory of their own, so that they can run one segment ahead.
SegmentLayout LayOutSegment(Graph& graph, const Mesh& mesh, bool prefetch = false);

// Code of one phase; `groups` and `scratch_bytes` collect over calls. Code without instructions is
// returned empty.
SegmentCode LowerPhase(const Graph& graph, const Mesh& mesh, const SegmentLayout& layout,
                       Phase phase, CodePart part, std::vector<Group>* groups,
                       int64_t* scratch_bytes);

// Appends the instructions of a collective or slice node.
void LowerReshard(CodeBuilder& code, const Node& node);

// A gather that runs ahead: its collective, and later what makes the gathered value of it.
void LowerPrefetchedGather(CodeBuilder& code, const Node& node, CodePart part);

}  // namespace trireme

#endif  // TRIREME_COORDINATOR_COMPILER_PASSES_LOWER_H_
