// Which mesh axes split which dim names: the job's shared, compute, param and optimizer mappings
// laid over the built-in defaults, and looked up as "region/dim" then "dim". Semantics of
// MeshConfig.resolved_compute_mapping and resolved_param_mapping (marin
// lib/levanter/src/levanter/utils/mesh.py) plus the defaults that DESIGN.md 4 adds.
#ifndef TRIREME_COMMON_SHARDING_MAPPING_H_
#define TRIREME_COMMON_SHARDING_MAPPING_H_

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/mesh/mesh.h"

namespace trireme {

// Dim name (or "region/dim") -> axis names, major to minor. An empty list unmaps ("null" in the job
// file).
using DimMapping = std::map<std::string, std::vector<std::string>>;

struct MappingConfig {
  DimMapping shared;
  DimMapping compute;
  DimMapping param;
  DimMapping optimizer;
  bool operator==(const MappingConfig&) const = default;
};

// The names a job may map: dims of tensors, and the regions of a model that may map a dim their own
// way.
const std::vector<std::string_view>& KnownDims();
const std::vector<std::string_view>& KnownRegions();

enum class MappingKind : uint8_t { kCompute, kParam, kOptimizer };

// Where an answer came from, for plans to explain: `entry` is for example "param_mapping embed:
// data (default)".
struct MappedAxes {
  std::vector<int> axes;  // mesh axis ids with size > 1, major to minor
  std::string entry;  // empty when no entry names the dim; "... embed: null (job)" when unmapped
};

class Mapping {
 public:
  // Errors: kInvalidArgument when an entry names an axis that is neither built in nor declared, an
  // unknown dim or an unknown region (known ones are listed, the nearest is suggested), or the same
  // axis twice in one entry.
  static StatusOr<Mapping> Create(const Mesh& mesh, const MappingConfig& config);

  // Looks up `region/dim`, then `dim`. Axes absent from the mesh or of size 1 drop out.
  MappedAxes Lookup(MappingKind kind, std::string_view region, std::string_view dim) const;

  // The resolved maps by name, before absent axes drop out; for goldens and `plan --explain`.
  const DimMapping& resolved(MappingKind kind) const;

 private:
  Mesh mesh_;
  DimMapping resolved_[3];
  std::map<std::string, std::string> origin_[3];
};

}  // namespace trireme

#endif  // TRIREME_COMMON_SHARDING_MAPPING_H_
