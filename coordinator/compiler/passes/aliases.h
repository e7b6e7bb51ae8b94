// Which values of a local graph share memory: views, slices of the outermost dim, updates in place,
// and all-reduces whose input nobody else reads.
#ifndef TRIREME_COORDINATOR_COMPILER_PASSES_ALIASES_H_
#define TRIREME_COORDINATOR_COMPILER_PASSES_ALIASES_H_

#include <string>
#include <vector>

#include "common/ir/graph.h"
#include "common/mesh/mesh.h"
#include "common/plan/program.h"

namespace trireme {

struct Alias {
  int root = -1;                 // value that owns the memory
  IndexMap offset;               // elements from the root's start
  std::vector<int64_t> strides;  // empty: dense in the value's own local sizes
};

// Two views beside `rename`, made by passes: "piece" is one of n * chunks equal parts of a dim,
// counted around the ring of a mesh axis (attributes axis, dim, shift, chunks, chunk: part
// ((coordinate + shift) mod n) * chunks + chunk; axis -1: part chunk of chunks); "join" is the
// value whose parts its inputs are (attributes axis, dim, chunks, and shifts and parts by input).
bool IsViewOp(const std::string& op);

// One entry a value. Only pieces have strides.
std::vector<Alias> FindAliases(const Graph& graph, const Mesh& mesh);

// Offset of what a "slice" node keeps, `shard` elements a coordinate of its last axis. Attribute
// "shift" counts it around the ring of its (one) axis.
IndexMap SliceOffset(const Mesh& mesh, const Node& node, int64_t shard);

// First element that a rank holds of dim `dim` of a value, as a function of its coordinates.
IndexMap StartOf(const Mesh& mesh, const Value& value, int dim);

}  // namespace trireme

#endif  // TRIREME_COORDINATOR_COMPILER_PASSES_ALIASES_H_
