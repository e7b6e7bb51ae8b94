// Resolves a job's mesh section to axis sizes: "-1 takes what is left". Semantics of
// MeshConfig.axis_shapes in marin-community/marin lib/levanter/src/levanter/utils/mesh.py, with
// stricter validation.
#ifndef TRIREME_COMMON_MESH_AXIS_SHAPES_H_
#define TRIREME_COMMON_MESH_AXIS_SHAPES_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/mesh/mesh.h"

namespace trireme {

using AxisSizes = std::vector<std::pair<std::string, int64_t>>;  // in declaration order; -1 absorbs

struct AxisShapes {
  AxisSizes ici;
  AxisSizes dcn;
};

// Defaults {data:-1, replica:1, model:1} and {replica_dcn:-1} updated by the user's axes.
// Errors: kInvalidArgument with the numbers that clash and what would work.
StatusOr<AxisShapes> ResolveAxisShapes(const AxisSizes& axes, const AxisSizes& dcn_axes,
                                       int64_t num_devices, int64_t num_slices);

// The mesh of resolved shapes: ICI axes then DCN axes.
StatusOr<Mesh> MakeMesh(const AxisShapes& shapes);

}  // namespace trireme

#endif  // TRIREME_COMMON_MESH_AXIS_SHAPES_H_
