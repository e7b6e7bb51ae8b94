// Which mesh axes split a dim in a region: the mapping's answer, checked against the dim's size.
// kv_heads that do not divide become whole; vocab is padded; anything else that does not divide is
// an error.
#ifndef TRIREME_COORDINATOR_COMPILER_PARTITION_DIM_AXES_H_
#define TRIREME_COORDINATOR_COMPILER_PARTITION_DIM_AXES_H_

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "common/base/status.h"
#include "common/ir/graph.h"
#include "common/mesh/mesh.h"
#include "common/plan/plan.h"
#include "common/sharding/mapping.h"

namespace trireme {

class DimAxes {
 public:
  // Borrows both for its lifetime.
  DimAxes(const Mesh& mesh, const Mapping& mapping) : mesh_(mesh), mapping_(mapping) {}

  // Axes that split `dim` (name, logical size) in `region`. `what` names the tensor or op for
  // errors. Errors: kInvalidArgument with sizes and what would divide.
  StatusOr<std::vector<int>> Axes(MappingKind kind, const std::string& region, const Dim& dim,
                                  const std::string& what);

  // Sharding of dims by Axes; errors also when two dims want one axis.
  StatusOr<Sharding> ShardingOf(MappingKind kind, const std::string& region,
                                const std::vector<Dim>& dims, const std::string& what);

  // The mapping entry that gave `axis` to a dim, for reasons; "" when unknown.
  std::string EntryFor(MappingKind kind, const std::string& region, const std::string& dim) const;

  // Smallest multiple that makes vocab split evenly wherever it is mapped.
  StatusOr<int64_t> PaddedVocab(int64_t vocab_size);

  const std::vector<Reason>& reasons() const { return reasons_; }
  const Mesh& mesh() const { return mesh_; }

 private:
  StatusOr<std::vector<int>> Compute(MappingKind kind, const std::string& region, const Dim& dim,
                                     const std::string& what);
  void AddReason(const std::string& code, const std::string& text);

  const Mesh& mesh_;
  const Mapping& mapping_;
  std::map<std::tuple<MappingKind, std::string, std::string, int64_t>, std::vector<int>> cache_;
  std::vector<Reason> reasons_;
};

}  // namespace trireme

#endif  // TRIREME_COORDINATOR_COMPILER_PARTITION_DIM_AXES_H_
