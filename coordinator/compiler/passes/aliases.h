// Which values of a local graph share memory: views, slices of the outermost dim, updates in place,
// and all-reduces whose input nobody else reads.
#ifndef TRIREME_COORDINATOR_COMPILER_PASSES_ALIASES_H_
#define TRIREME_COORDINATOR_COMPILER_PASSES_ALIASES_H_

#include <vector>

#include "common/ir/graph.h"
#include "common/mesh/mesh.h"
#include "common/plan/program.h"

namespace trireme {

struct Alias {
  int root = -1;    // value that owns the memory
  IndexMap offset;  // elements from the root's start
};

// One entry a value. Every value is dense in its own local sizes.
std::vector<Alias> FindAliases(const Graph& graph, const Mesh& mesh);

// First element that a rank holds of dim `dim` of a value, as a function of its coordinates.
IndexMap StartOf(const Mesh& mesh, const Value& value, int dim);

}  // namespace trireme

#endif  // TRIREME_COORDINATOR_COMPILER_PASSES_ALIASES_H_
