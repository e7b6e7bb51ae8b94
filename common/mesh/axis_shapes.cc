// Resolves the ICI axes against the devices of one slice and the DCN axes against the slices, each
// by the same rule: the known sizes must multiply to the total, or leave an exact rest for the one
// axis of size -1.
#include "common/mesh/axis_shapes.h"

#include <algorithm>
#include <set>

namespace trireme {
namespace {

struct Domain {
  std::string name;          // "axes" or "dcn_axes", as in the job file
  std::string unit;          // what its product counts
  std::string default_axis;  // the built-in absorber, which gives way to the user's
};

bool Names(const AxisSizes& axes, const std::string& name) {
  for (const auto& [axis, size] : axes) {
    if (axis == name) return true;
  }
  return false;
}

int CountAbsorbers(const AxisSizes& axes) {
  int count = 0;
  for (const auto& [axis, size] : axes) count += size == -1;
  return count;
}

std::string ToText(const AxisSizes& axes) {
  std::string text;
  for (const auto& [axis, size] : axes) {
    if (!text.empty()) text += ", ";
    text += axis + ": " + std::to_string(size);
  }
  return "{" + text + "}";
}

Status CheckUserAxes(const Domain& domain, const AxisSizes& axes) {
  std::set<std::string> seen;
  for (const auto& [axis, size] : axes) {
    if (axis.empty()) {
      return InvalidArgument("mesh." + domain.name + " has an axis with an empty name, size " +
                             std::to_string(size) + "; give it a name");
    }
    if (!seen.insert(axis).second) {
      return InvalidArgument("mesh." + domain.name + " names '" + axis +
                             "' twice; keep one of them");
    }
    if (size == 0 || size < -1) {
      return InvalidArgument("mesh." + domain.name + "." + axis + " is " + std::to_string(size) +
                             "; use a size of at least 1, or -1 to take what is left");
    }
  }
  return absl::OkStatus();
}

// The defaults updated by the user's axes: known ones keep their place, others follow.
AxisSizes Update(AxisSizes defaults, const AxisSizes& user, const std::string& default_axis) {
  for (const auto& [name, size] : user) {
    bool found = false;
    for (auto& [known, known_size] : defaults) {
      if (known != name) continue;
      known_size = size;
      found = true;
    }
    if (!found) defaults.emplace_back(name, size);
  }
  if (CountAbsorbers(defaults) > 1 && !Names(user, default_axis)) {
    for (auto& [name, size] : defaults) {
      if (name == default_axis) size = 1;
    }
  }
  return defaults;
}

Status CheckOneAbsorber(const Domain& domain, const AxisSizes& axes) {
  if (CountAbsorbers(axes) <= 1) return absl::OkStatus();
  return InvalidArgument("only one axis of mesh." + domain.name + " may be -1, got " +
                         ToText(axes) + "; give all but one a size");
}

// Product of the known sizes, or 0 when it exceeds `limit`.
int64_t KnownProduct(const AxisSizes& axes, int64_t limit) {
  int64_t product = 1;
  for (const auto& [axis, size] : axes) {
    if (size == -1) continue;
    if (size > limit / product) return 0;
    product *= size;
  }
  return product;
}

Status Resolve(const Domain& domain, int64_t total, AxisSizes& axes) {
  const int64_t known = KnownProduct(axes, total);
  const std::string have = std::to_string(total) + " " + domain.unit;
  if (CountAbsorbers(axes) == 0) {
    if (known == total) return absl::OkStatus();
    return InvalidArgument(
        "mesh." + domain.name + " " + ToText(axes) + " multiplies to " +
        (known == 0 ? "more than " + have : std::to_string(known) + " but there are " + have) +
        "; make the product " + std::to_string(total) + ", or set one axis to -1");
  }
  if (known == 0 || total % known != 0) {
    return InvalidArgument("mesh." + domain.name + " " + ToText(axes) + ": the known sizes" +
                           (known == 0 ? "" : " multiply to " + std::to_string(known) + " and") +
                           " do not divide " + have + "; their product must divide " +
                           std::to_string(total));
  }
  for (auto& [axis, size] : axes) {
    if (size == -1) size = total / known;
  }
  return absl::OkStatus();
}

Status CheckTotals(int64_t num_devices, int64_t num_slices) {
  if (num_slices < 1) {
    return InvalidArgument("num_slices is " + std::to_string(num_slices) +
                           "; it must be at least 1");
  }
  if (num_devices < 1) {
    return InvalidArgument("num_devices is " + std::to_string(num_devices) +
                           "; a mesh needs at least 1 device");
  }
  if (num_devices % num_slices != 0) {
    return InvalidArgument(
        std::to_string(num_devices) + " devices do not divide into " + std::to_string(num_slices) +
        " slices; every slice must hold the same number, for example use " +
        std::to_string(std::max<int64_t>(1, num_devices / num_slices) * num_slices) + " devices");
  }
  return absl::OkStatus();
}

}  // namespace

StatusOr<AxisShapes> ResolveAxisShapes(const AxisSizes& axes, const AxisSizes& dcn_axes,
                                       int64_t num_devices, int64_t num_slices) {
  const Domain ici = {"axes", "devices in a slice", "data"};
  const Domain dcn = {"dcn_axes", "slices", "replica_dcn"};
  RETURN_IF_ERROR(CheckTotals(num_devices, num_slices));
  RETURN_IF_ERROR(CheckUserAxes(ici, axes));
  RETURN_IF_ERROR(CheckUserAxes(dcn, dcn_axes));
  AxisShapes shapes;
  shapes.ici = Update({{"data", -1}, {"replica", 1}, {"model", 1}}, axes, ici.default_axis);
  shapes.dcn = Update({{"replica_dcn", -1}}, dcn_axes, dcn.default_axis);
  for (const auto& [axis, size] : shapes.dcn) {
    if (!Names(shapes.ici, axis)) continue;
    return InvalidArgument("axis '" + axis + "' is in both mesh.axes and mesh.dcn_axes; a name " +
                           "belongs to one of them (data, replica and model are always in axes)");
  }
  RETURN_IF_ERROR(CheckOneAbsorber(ici, shapes.ici));
  RETURN_IF_ERROR(CheckOneAbsorber(dcn, shapes.dcn));
  RETURN_IF_ERROR(Resolve(dcn, num_slices, shapes.dcn));
  RETURN_IF_ERROR(Resolve(ici, num_devices / num_slices, shapes.ici));
  return shapes;
}

StatusOr<Mesh> MakeMesh(const AxisShapes& shapes) {
  std::vector<MeshAxis> axes;
  for (const auto& [name, size] : shapes.ici) axes.push_back({name, size, Fabric::kIci});
  for (const auto& [name, size] : shapes.dcn) axes.push_back({name, size, Fabric::kDcn});
  return Mesh::Create(std::move(axes));
}

}  // namespace trireme
