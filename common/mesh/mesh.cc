// Numbers the ranks of a mesh: placement order gives each axis its stride, coordinates are digits
// of the rank.
#include "common/mesh/mesh.h"

#include <algorithm>
#include <array>
#include <set>

#include "common/base/check.h"

namespace trireme {
namespace {

constexpr int64_t kMaxRanks = int64_t{1} << 40;

// Position of an ICI axis between the DCN axes (0) and the devices; smaller is further out.
int PlacementClass(const MeshAxis& axis) {
  if (axis.fabric == Fabric::kDcn) return 0;
  constexpr std::array<std::string_view, 5> kOuter = {"stage", "replica", "data", "context",
                                                      "expert"};
  constexpr int kOther = 1 + static_cast<int>(kOuter.size());
  for (size_t i = 0; i < kOuter.size(); ++i) {
    if (axis.name == kOuter[i]) return 1 + static_cast<int>(i);
  }
  return axis.name == "model" ? kOther + 1 : kOther;
}

Status CheckAxes(const std::vector<MeshAxis>& axes) {
  std::set<std::string> names;
  int64_t ranks = 1;
  for (const MeshAxis& axis : axes) {
    if (axis.name.empty()) {
      return InvalidArgument("a mesh axis has an empty name; give every axis a name");
    }
    if (!names.insert(axis.name).second) {
      return InvalidArgument("mesh axis '" + axis.name +
                             "' is declared twice; rename or remove one of them");
    }
    if (axis.size < 1) {
      return InvalidArgument("mesh axis '" + axis.name + "' has size " + std::to_string(axis.size) +
                             "; it must be at least 1");
    }
    if (axis.size > kMaxRanks / ranks) {
      return InvalidArgument("mesh axis '" + axis.name + "' of size " + std::to_string(axis.size) +
                             " takes the mesh beyond 2^40 ranks; use smaller axes");
    }
    ranks *= axis.size;
  }
  return absl::OkStatus();
}

}  // namespace

std::string_view Name(Fabric fabric) { return fabric == Fabric::kDcn ? "dcn" : "ici"; }

StatusOr<Mesh> Mesh::Create(std::vector<MeshAxis> axes) {
  RETURN_IF_ERROR(CheckAxes(axes));
  Mesh mesh;
  mesh.axes_ = std::move(axes);
  mesh.placement_order_.resize(mesh.axes_.size());
  for (int i = 0; i < mesh.num_axes(); ++i) mesh.placement_order_[i] = i;
  std::stable_sort(mesh.placement_order_.begin(), mesh.placement_order_.end(), [&](int a, int b) {
    return PlacementClass(mesh.axes_[a]) < PlacementClass(mesh.axes_[b]);
  });
  mesh.rank_strides_.resize(mesh.axes_.size());
  for (int i = mesh.num_axes() - 1; i >= 0; --i) {
    const int axis = mesh.placement_order_[i];
    mesh.rank_strides_[axis] = mesh.num_ranks_;
    mesh.num_ranks_ *= mesh.axes_[axis].size;
  }
  return mesh;
}

std::optional<int> Mesh::FindAxis(std::string_view name) const {
  for (int i = 0; i < num_axes(); ++i) {
    if (axes_[i].name == name) return i;
  }
  return std::nullopt;
}

std::vector<int64_t> Mesh::Coordinates(int64_t rank) const {
  CHECK(0 <= rank && rank < num_ranks_) << "rank " << rank << " of " << num_ranks_;
  std::vector<int64_t> coordinates(axes_.size());
  for (size_t i = 0; i < axes_.size(); ++i) {
    coordinates[i] = rank / rank_strides_[i] % axes_[i].size;
  }
  return coordinates;
}

int64_t Mesh::RankOf(const std::vector<int64_t>& coordinates) const {
  CHECK_EQ(coordinates.size(), axes_.size());
  int64_t rank = 0;
  for (size_t i = 0; i < axes_.size(); ++i) {
    CHECK(0 <= coordinates[i] && coordinates[i] < axes_[i].size)
        << "coordinate " << coordinates[i] << " on axis " << axes_[i].name;
    rank += coordinates[i] * rank_strides_[i];
  }
  return rank;
}

int64_t Mesh::GroupSize(const std::vector<int>& axes) const {
  int64_t size = 1;
  for (int axis : axes) size *= axes_[axis].size;
  return size;
}

std::vector<int64_t> Mesh::GroupMembers(int64_t rank, const std::vector<int>& axes) const {
  CHECK(0 <= rank && rank < num_ranks_) << "rank " << rank << " of " << num_ranks_;
  int64_t origin = rank;  // the member whose coordinates along `axes` are all 0
  for (int axis : axes) {
    origin -= rank / rank_strides_[axis] % axes_[axis].size * rank_strides_[axis];
  }
  std::vector<int64_t> members = {origin};
  for (int axis : axes) {
    std::vector<int64_t> wider;
    wider.reserve(members.size() * axes_[axis].size);
    for (int64_t member : members) {
      for (int64_t i = 0; i < axes_[axis].size; ++i) {
        wider.push_back(member + i * rank_strides_[axis]);
      }
    }
    members = std::move(wider);
  }
  return members;
}

Fabric Mesh::GroupFabric(const std::vector<int>& axes) const {
  for (int axis : axes) {
    if (axes_[axis].size > 1 && axes_[axis].fabric == Fabric::kDcn) return Fabric::kDcn;
  }
  return Fabric::kIci;
}

std::string Mesh::ToText() const {
  std::string ici, dcn;
  for (const MeshAxis& axis : axes_) {
    std::string& text = axis.fabric == Fabric::kDcn ? dcn : ici;
    if (!text.empty()) text += ", ";
    text += axis.name + " " + std::to_string(axis.size);
  }
  if (dcn.empty()) return "{" + ici + "}";
  return "{" + ici + (ici.empty() ? "| " : " | ") + dcn + "}";
}

}  // namespace trireme
