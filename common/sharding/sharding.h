// How a value lies on the mesh: for each dim the axes that split it (major to minor), and the axes
// over which it is still a partial sum or maximum. Axes are indices into Mesh::axes();
// kMicrobatchAxis is time.
#ifndef TRIREME_COMMON_SHARDING_SHARDING_H_
#define TRIREME_COMMON_SHARDING_SHARDING_H_

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/mesh/mesh.h"
#include "common/tensor/dim.h"

namespace trireme {

inline constexpr int kMicrobatchAxis = -1;

enum class ReduceKind : uint8_t { kSum = 0, kMax = 1 };

struct Partial {
  int axis = 0;
  ReduceKind kind = ReduceKind::kSum;
  auto operator<=>(const Partial&) const = default;
};

struct Sharding {
  std::vector<std::vector<int>> dim_axes;  // one entry a dim; empty = whole
  std::vector<Partial> partial;            // sorted by axis, no repeats

  bool operator==(const Sharding&) const = default;
};

// All dims whole, nothing partial.
Sharding Replicated(int num_dims);

// Shards of dim `i`: product of its axes.
int64_t NumShards(const Mesh& mesh, const Sharding& sharding, int dim);

// Physical sizes of one rank's shard. Requires every padded size to divide (see Validate).
std::vector<int64_t> LocalSizes(const Mesh& mesh, const std::vector<Dim>& dims,
                                const Sharding& sharding);

// First physical index that `rank` holds of each dim.
std::vector<int64_t> LocalStart(const Mesh& mesh, const std::vector<Dim>& dims,
                                const Sharding& sharding, int64_t rank);

// Errors: kInvalidArgument naming `tensor`, the dim, the sizes and what would divide; or the two
// dims of one tensor that want the same axis.
Status Validate(const Mesh& mesh, const std::vector<Dim>& dims, const Sharding& sharding,
                const std::string& tensor);

// Axes of size > 1 that neither split a dim nor are partial: the value is repeated along them.
std::vector<int> ReplicatedAxes(const Mesh& mesh, const Sharding& sharding);

// Example: "[batch/(data,expert), position, embed/model] +SUM(data, microbatch)"
std::string ToText(const Mesh& mesh, const std::vector<Dim>& dims, const Sharding& sharding);

}  // namespace trireme

#endif  // TRIREME_COMMON_SHARDING_SHARDING_H_
