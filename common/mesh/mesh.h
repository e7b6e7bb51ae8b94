// The device mesh: named axes, each on a fabric, and the numbering of ranks. Axes keep their
// declaration order; the placement order (outermost first) says which ranks are neighbours: DCN
// axes, stage, replica, data, context, expert, then others in declaration order, innermost model.
// Rank = mixed radix of the coordinates in placement order.
#ifndef TRIREME_COMMON_MESH_MESH_H_
#define TRIREME_COMMON_MESH_MESH_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"

namespace trireme {

enum class Fabric : uint8_t { kIci = 0, kDcn = 1 };
std::string_view Name(Fabric fabric);  // "ici", "dcn"

struct MeshAxis {
  std::string name;
  int64_t size = 1;
  Fabric fabric = Fabric::kIci;
  bool operator==(const MeshAxis&) const = default;
};

class Mesh {
 public:
  Mesh() = default;  // no axes, one rank

  // Errors: kInvalidArgument on an empty or repeated name, a size < 1, or more than 2^40 ranks.
  static StatusOr<Mesh> Create(std::vector<MeshAxis> axes);

  const std::vector<MeshAxis>& axes() const { return axes_; }
  int num_axes() const { return static_cast<int>(axes_.size()); }
  const MeshAxis& axis(int id) const { return axes_[id]; }
  int64_t num_ranks() const { return num_ranks_; }

  // Index into axes(), or nullopt.
  std::optional<int> FindAxis(std::string_view name) const;
  // Axis indices, outermost first.
  const std::vector<int>& placement_order() const { return placement_order_; }
  // Distance in rank numbers between neighbours along `axis`.
  int64_t RankStride(int axis) const { return rank_strides_[axis]; }

  // Coordinates of `rank`, indexed by axis id. Requires 0 <= rank < num_ranks().
  std::vector<int64_t> Coordinates(int64_t rank) const;
  int64_t RankOf(const std::vector<int64_t>& coordinates) const;

  // Product of the sizes of `axes`.
  int64_t GroupSize(const std::vector<int>& axes) const;
  // Ranks that differ from `rank` only along `axes`, ordered with axes[0] slowest. Includes `rank`.
  std::vector<int64_t> GroupMembers(int64_t rank, const std::vector<int>& axes) const;
  // kDcn when any of `axes` with size > 1 is on DCN.
  Fabric GroupFabric(const std::vector<int>& axes) const;

  // Example: "{data 2, model 2 | replica_dcn 2}", ICI axes before the bar, in declaration order,
  // all sizes.
  std::string ToText() const;

 private:
  std::vector<MeshAxis> axes_;
  std::vector<int> placement_order_;
  std::vector<int64_t> rank_strides_;
  int64_t num_ranks_ = 1;
};

}  // namespace trireme

#endif  // TRIREME_COMMON_MESH_MESH_H_
