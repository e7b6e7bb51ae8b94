// One function a short form. Names of axes come from the mapping (what mlp, heads and position are
// mapped to), never from the names of the default axes.
#include "common/config/short_forms.h"

#include <algorithm>
#include <vector>

#include "common/config/values.h"

namespace trireme {
namespace {

using Axes = std::vector<std::string>;

// The entry of a mapping that an activation's dim obeys, when the job gives it.
struct JobEntry {
  std::string path;  // "mesh.compute_mapping.residual/position"
  Axes axes;
};

std::optional<JobEntry> FindComputeEntry(const MappingConfig& mapping, const std::string& dim) {
  if (const auto own = mapping.compute.find(dim); own != mapping.compute.end()) {
    return JobEntry{"mesh.compute_mapping." + dim, own->second};
  }
  if (const auto shared = mapping.shared.find(dim); shared != mapping.shared.end()) {
    return JobEntry{"mesh.shared_mapping." + dim, shared->second};
  }
  return std::nullopt;
}

Axes ComputeAxes(const MappingConfig& mapping, const std::string& dim, const Axes& by_default) {
  const std::optional<JobEntry> entry = FindComputeEntry(mapping, dim);
  return entry ? entry->axes : by_default;
}

std::string Show(const Axes& axes) {
  if (axes.empty()) return "null";
  if (axes.size() == 1) return axes[0];
  std::string text;
  for (const std::string& axis : axes) text += (text.empty() ? "[" : ", ") + axis;
  return text + "]";
}

bool Contains(const Axes& axes, const std::string& axis) {
  return std::find(axes.begin(), axes.end(), axis) != axes.end();
}

// Axes that split positions; of size 1, or absent from the mesh, they do not count.
Axes PositionAxes(const MeshSpec& mesh) {
  Axes axes;
  for (const std::string& axis : ComputeAxes(mesh.mapping, "position", {"context"})) {
    for (const AxisSizes* sizes : {&mesh.axes, &mesh.dcn_axes}) {
      const bool splits = std::any_of(sizes->begin(), sizes->end(), [&](const auto& one) {
        return one.first == axis && one.second != 1;
      });
      if (splits) axes.push_back(axis);
    }
  }
  return axes;
}

Status ApplyTensorParallel(const LocateKey& locate, JobSpec* spec) {
  constexpr char kMode[] = "tensor_parallel.mode";
  constexpr char kDim[] = "residual/position";
  if (spec->tensor_parallel.mode != TensorParallelMode::kReduceScatter) return absl::OkStatus();
  MappingConfig& mapping = spec->mesh.mapping;
  const Axes mlp = ComputeAxes(mapping, "mlp", {"model"});
  const Axes heads = ComputeAxes(mapping, "heads", {"model"});
  const Axes& model = mlp.empty() ? heads : mlp;
  if (const std::optional<JobEntry> entry = FindComputeEntry(mapping, kDim)) {
    const bool splits = std::any_of(
        entry->axes.begin(), entry->axes.end(),
        [&](const std::string& axis) { return Contains(mlp, axis) || Contains(heads, axis); });
    if (splits) return absl::OkStatus();
    return ConfigError(locate(kMode), kMode,
                       "reduce_scatter splits positions of the residual stream over " +
                           Show(model) + ", but " + entry->path + " is " + Show(entry->axes) +
                           "; take that entry out, or use mode: all_reduce");
  }
  if (model.empty()) {
    return ConfigError(locate(kMode), kMode,
                       "reduce_scatter needs an axis that splits mlp or heads, but the mesh "
                       "mappings say null for both; map one of them, or use mode: all_reduce");
  }
  Axes axes = PositionAxes(spec->mesh);
  for (const std::string& axis : model) {
    if (!Contains(axes, axis)) axes.push_back(axis);
  }
  mapping.compute[kDim] = axes;
  return absl::OkStatus();
}

Status ApplyContextParallel(const IsGivenKey& given, const LocateKey& locate, JobSpec* spec) {
  constexpr char kMode[] = "context_parallel.mode";
  constexpr char kDim[] = "attention/key_position";
  MappingConfig& mapping = spec->mesh.mapping;
  ContextParallelMode& mode = spec->context_parallel.mode;
  std::optional<JobEntry> entry = FindComputeEntry(mapping, kDim);
  if (!entry) entry = FindComputeEntry(mapping, "key_position");
  if (!entry) {
    const Axes axes = PositionAxes(spec->mesh);
    if (mode == ContextParallelMode::kRing && !axes.empty()) mapping.compute[kDim] = axes;
    return absl::OkStatus();
  }
  if (entry->axes.empty() && !given(kMode)) mode = ContextParallelMode::kAllGather;
  if (entry->axes.empty() == (mode == ContextParallelMode::kAllGather)) return absl::OkStatus();
  const std::string what =
      mode == ContextParallelMode::kRing
          ? "ring keeps keys split, but " + entry->path + " is null; use mode: all_gather, or "
          : "all_gather makes keys whole on every rank, but " + entry->path + " is " +
                Show(entry->axes) + "; use mode: ring, or ";
  return ConfigError(locate(kMode), kMode, what + "take that entry out");
}

// Maps embed to `axes`, or finds that the job has done so.
Status WriteEmbed(int64_t stage, const std::string& section, const Axes& axes, bool write,
                  const LocateKey& locate, DimMapping* map) {
  const auto found = map->find("embed");
  if (found == map->end()) {
    if (write) (*map)["embed"] = axes;
    return absl::OkStatus();
  }
  if (found->second == axes) return absl::OkStatus();
  return ConfigError(locate("zero.stage"), "zero.stage",
                     std::to_string(stage) + " means " + section + ".embed: " + Show(axes) +
                         ", but the job has " + section + ".embed: " + Show(found->second) +
                         "; keep one of the two keys");
}

Status ApplyZeroStage(int64_t stage, const LocateKey& locate, MappingConfig* mapping) {
  const Axes data = {"data"};
  RETURN_IF_ERROR(WriteEmbed(stage, "mesh.param_mapping", stage == 3 ? data : Axes(),
                             /*write=*/true, locate, &mapping->param));
  // The optimizer follows the parameters, so stage 3 need not say it.
  return WriteEmbed(stage, "mesh.optimizer_mapping", stage == 0 ? Axes() : data,
                    /*write=*/stage != 3, locate, &mapping->optimizer);
}

// A zero key about gathers of parameters, which only exist where parameters are split.
Status NeedsSplitParameters(const ShortForms& forms, const std::string& path,
                            const std::string& value, const std::string& way_out,
                            const LocateKey& locate, const JobSpec& spec) {
  const auto embed = spec.mesh.mapping.param.find("embed");
  const bool whole = embed != spec.mesh.mapping.param.end() && embed->second.empty();
  if (!whole) return absl::OkStatus();
  const std::string why = forms.zero_stage ? "zero.stage " + std::to_string(*forms.zero_stage)
                                           : "mesh.param_mapping.embed: null";
  return ConfigError(locate(path), path,
                     value + " is about gathers of split parameters, but " + why +
                         " keeps parameters whole; use zero.stage: 3, or " + way_out);
}

Status ApplyReshard(const ShortForms& forms, const IsGivenKey& given, const LocateKey& locate,
                    JobSpec* spec) {
  constexpr char kPath[] = "zero.reshard_after_forward";
  if (!forms.zero_reshard_after_forward) return absl::OkStatus();
  const bool reshard = *forms.zero_reshard_after_forward;
  const std::string value = reshard ? "true" : "false";
  if (!reshard) {
    RETURN_IF_ERROR(NeedsSplitParameters(forms, kPath, value, "take the key out", locate, *spec));
  }
  const GatherPolicy gather = reshard ? GatherPolicy::kUse : GatherPolicy::kStep;
  if (given("mesh.gather") && spec->mesh.gather != gather) {
    return ConfigError(locate(kPath), kPath,
                       value + " means mesh.gather: " + (reshard ? "use" : "step") +
                           ", but the job has mesh.gather: " + (reshard ? "step" : "use") +
                           "; keep one of the two keys");
  }
  spec->mesh.gather = gather;
  return absl::OkStatus();
}

Status ApplyPrefetch(const ShortForms& forms, const IsGivenKey& given, const LocateKey& locate,
                     JobSpec* spec) {
  constexpr char kPath[] = "zero.prefetch";
  if (!forms.zero_prefetch) return absl::OkStatus();
  const bool prefetch = *forms.zero_prefetch;
  const std::string value = prefetch ? "true" : "false";
  if (prefetch) {
    RETURN_IF_ERROR(NeedsSplitParameters(forms, kPath, value, "prefetch: false", locate, *spec));
  }
  if (given("mesh.prefetch") && spec->mesh.prefetch != prefetch) {
    return ConfigError(locate(kPath), kPath,
                       value + ", but the job has mesh.prefetch: " + (prefetch ? "false" : "true") +
                           "; keep one of the two keys");
  }
  if (prefetch && spec->mesh.gather == GatherPolicy::kStep) {
    const std::string why = forms.zero_reshard_after_forward ? "zero.reshard_after_forward: false"
                                                             : "mesh.gather: step";
    return ConfigError(locate(kPath), kPath,
                       "true moves gathers at every use one block ahead, but " + why +
                           " gathers once a step; take one of the two keys out");
  }
  spec->mesh.prefetch = prefetch;
  return absl::OkStatus();
}

}  // namespace

Status ApplyShortForms(const ShortForms& forms, const IsGivenKey& given, const LocateKey& locate,
                       JobSpec* spec) {
  if (forms.zero_stage) {
    RETURN_IF_ERROR(ApplyZeroStage(*forms.zero_stage, locate, &spec->mesh.mapping));
  }
  RETURN_IF_ERROR(ApplyReshard(forms, given, locate, spec));
  RETURN_IF_ERROR(ApplyPrefetch(forms, given, locate, spec));
  RETURN_IF_ERROR(ApplyTensorParallel(locate, spec));
  return ApplyContextParallel(given, locate, spec);
}

}  // namespace trireme
