// Where each rank's shard of a value lies. A dim split by axes (a, b) is cut by a first; the shard
// a rank holds is the number whose digits are its coordinates, a the most significant.
#include "common/sharding/sharding.h"

#include <algorithm>

#include "common/base/check.h"

namespace trireme {
namespace {

std::string JoinAxes(const Mesh& mesh, const std::vector<int>& axes, const char* separator) {
  std::string text;
  for (int axis : axes) {
    if (!text.empty()) text += separator;
    text += axis == kMicrobatchAxis ? "microbatch" : mesh.axis(axis).name;
  }
  return text;
}

// "1, 2, 3, 4, 6 or 12": the divisors of `size` that are at most `limit`, the largest 8 of them.
std::string DivisorsUpTo(int64_t size, int64_t limit) {
  constexpr size_t kMaxShown = 8;
  std::vector<int64_t> divisors;
  for (int64_t i = std::min(size, limit); i >= 1 && divisors.size() < kMaxShown; --i) {
    if (size % i == 0) divisors.push_back(i);
  }
  std::reverse(divisors.begin(), divisors.end());
  std::string text;
  for (size_t i = 0; i < divisors.size(); ++i) {
    if (i > 0) text += i + 1 == divisors.size() ? " or " : ", ";
    text += std::to_string(divisors[i]);
  }
  return text;
}

Status CheckAxisIds(const Mesh& mesh, const Sharding& sharding, const std::string& tensor) {
  auto check = [&](int axis, bool may_be_time) -> Status {
    if (0 <= axis && axis < mesh.num_axes()) return absl::OkStatus();
    if (may_be_time && axis == kMicrobatchAxis) return absl::OkStatus();
    return InvalidArgument(tensor + ": axis id " + std::to_string(axis) + " is not of mesh " +
                           mesh.ToText() + ", whose ids are 0 to " +
                           std::to_string(mesh.num_axes() - 1));
  };
  for (const std::vector<int>& axes : sharding.dim_axes) {
    for (int axis : axes) RETURN_IF_ERROR(check(axis, /*may_be_time=*/false));
  }
  for (const Partial& partial : sharding.partial) {
    RETURN_IF_ERROR(check(partial.axis, /*may_be_time=*/true));
  }
  return absl::OkStatus();
}

// Every axis splits at most one dim, once, and no dim is split by an axis that still holds partial
// values.
Status CheckAxesUsedOnce(const Mesh& mesh, const std::vector<Dim>& dims, const Sharding& sharding,
                         const std::string& tensor) {
  std::vector<int> owner(mesh.num_axes(), -1);
  for (size_t i = 0; i < dims.size(); ++i) {
    for (int axis : sharding.dim_axes[i]) {
      if (owner[axis] >= 0) {
        return InvalidArgument(tensor + ": dims " + dims[owner[axis]].name + " and " +
                               dims[i].name + " both want mesh axis '" + mesh.axis(axis).name +
                               "'; map one of them to another axis or to null");
      }
      owner[axis] = static_cast<int>(i);
    }
  }
  for (size_t i = 0; i < sharding.partial.size(); ++i) {
    const int axis = sharding.partial[i].axis;
    if (i > 0 && sharding.partial[i - 1].axis >= axis) {
      return InvalidArgument(tensor + ": partial axes must be sorted and differ, got " +
                             ToText(mesh, dims, sharding));
    }
    if (axis != kMicrobatchAxis && owner[axis] >= 0) {
      return InvalidArgument(tensor + ": mesh axis '" + mesh.axis(axis).name + "' splits dim " +
                             dims[owner[axis]].name +
                             " and is still partial; it can only be one of them");
    }
  }
  return absl::OkStatus();
}

}  // namespace

Sharding Replicated(int num_dims) {
  return {.dim_axes = std::vector<std::vector<int>>(num_dims), .partial = {}};
}

int64_t NumShards(const Mesh& mesh, const Sharding& sharding, int dim) {
  return mesh.GroupSize(sharding.dim_axes[dim]);
}

std::vector<int64_t> LocalSizes(const Mesh& mesh, const std::vector<Dim>& dims,
                                const Sharding& sharding) {
  CHECK_EQ(dims.size(), sharding.dim_axes.size());
  std::vector<int64_t> sizes(dims.size());
  for (size_t i = 0; i < dims.size(); ++i) {
    const int64_t shards = NumShards(mesh, sharding, static_cast<int>(i));
    CHECK_EQ(dims[i].physical() % shards, 0) << dims[i].name << " over " << shards << " shards";
    sizes[i] = dims[i].physical() / shards;
  }
  return sizes;
}

std::vector<int64_t> LocalStart(const Mesh& mesh, const std::vector<Dim>& dims,
                                const Sharding& sharding, int64_t rank) {
  const std::vector<int64_t> coordinates = mesh.Coordinates(rank);
  std::vector<int64_t> start = LocalSizes(mesh, dims, sharding);
  for (size_t i = 0; i < dims.size(); ++i) {
    int64_t shard = 0;
    for (int axis : sharding.dim_axes[i]) shard = shard * mesh.axis(axis).size + coordinates[axis];
    start[i] *= shard;
  }
  return start;
}

Status Validate(const Mesh& mesh, const std::vector<Dim>& dims, const Sharding& sharding,
                const std::string& tensor) {
  if (dims.size() != sharding.dim_axes.size()) {
    return InvalidArgument(tensor + ": has " + std::to_string(dims.size()) +
                           " dims but its sharding has " +
                           std::to_string(sharding.dim_axes.size()));
  }
  RETURN_IF_ERROR(CheckAxisIds(mesh, sharding, tensor));
  RETURN_IF_ERROR(CheckAxesUsedOnce(mesh, dims, sharding, tensor));
  for (size_t i = 0; i < dims.size(); ++i) {
    const int64_t shards = NumShards(mesh, sharding, static_cast<int>(i));
    if (dims[i].physical() % shards == 0) continue;
    return InvalidArgument(tensor + ": dim " + dims[i].name + " of size " +
                           std::to_string(dims[i].physical()) + " does not split evenly over " +
                           std::to_string(shards) + " shards of mesh axes (" +
                           JoinAxes(mesh, sharding.dim_axes[i], ", ") + "); try " +
                           DivisorsUpTo(dims[i].physical(), shards) + " shards");
  }
  return absl::OkStatus();
}

std::vector<int> ReplicatedAxes(const Mesh& mesh, const Sharding& sharding) {
  std::vector<bool> used(mesh.num_axes(), false);
  for (const std::vector<int>& axes : sharding.dim_axes) {
    for (int axis : axes) used[axis] = true;
  }
  for (const Partial& partial : sharding.partial) {
    if (partial.axis != kMicrobatchAxis) used[partial.axis] = true;
  }
  std::vector<int> replicated;
  for (int axis = 0; axis < mesh.num_axes(); ++axis) {
    if (!used[axis] && mesh.axis(axis).size > 1) replicated.push_back(axis);
  }
  return replicated;
}

std::string ToText(const Mesh& mesh, const std::vector<Dim>& dims, const Sharding& sharding) {
  std::string text = "[";
  for (size_t i = 0; i < dims.size(); ++i) {
    if (i > 0) text += ", ";
    text += dims[i].name;
    const std::vector<int>& axes = sharding.dim_axes[i];
    if (axes.size() == 1) text += "/" + mesh.axis(axes[0]).name;
    if (axes.size() > 1) text += "/(" + JoinAxes(mesh, axes, ",") + ")";
  }
  text += "]";
  for (ReduceKind kind : {ReduceKind::kSum, ReduceKind::kMax}) {
    std::vector<int> axes;
    bool time = false;
    for (const Partial& partial : sharding.partial) {
      if (partial.kind != kind) continue;
      if (partial.axis == kMicrobatchAxis) {
        time = true;
      } else {
        axes.push_back(partial.axis);
      }
    }
    if (time) axes.push_back(kMicrobatchAxis);
    if (axes.empty()) continue;
    text += (kind == ReduceKind::kSum ? " +SUM(" : " +MAX(") + JoinAxes(mesh, axes, ", ") + ")";
  }
  return text;
}

}  // namespace trireme
