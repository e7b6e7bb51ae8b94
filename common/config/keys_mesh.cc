// Rows of the job table: mesh.
#include <algorithm>

#include "common/config/key_makers.h"

namespace trireme {
namespace {

using Json = nlohmann::ordered_json;

bool IsAxisName(std::string_view name) {
  return !name.empty() && name.size() <= 63 && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

Status CheckAxisName(const ConfigNode& node, const std::string& path, std::string_view name) {
  if (IsAxisName(name)) return absl::OkStatus();
  return ConfigError(node.where, path,
                     "expected an axis name of a-z, 0-9 and _, got " + ShowText(name));
}

template <typename Field>
JobKey AxesKey(std::string path, std::string default_text, Field field, std::string meaning) {
  JobKey key{std::move(path), "a map from axis to size, whole and >= 1, or -1", std::move(meaning)};
  key.default_text = std::move(default_text);
  key.read = [=](const ConfigNode& node, const std::string& at, JobSpec* spec) -> Status {
    if (!node.is_map() && !node.is_null()) {
      return Expected(node, at, "a map from axis to size, for example {data: -1, model: 2}");
    }
    AxisSizes axes;
    for (const auto& [name, value] : node.entries) {
      RETURN_IF_ERROR(CheckAxisName(value, at, name));
      const std::string entry_path = JoinPath(at, name);
      int64_t size = 0;
      const Status read = ReadInt(value, entry_path, {-1, int64_t{1} << 40}, &size);
      if (!read.ok() || size == 0) {
        return Expected(value, entry_path, "a size >= 1, or -1 to take what is left");
      }
      axes.emplace_back(name, size);
    }
    field(*spec) = std::move(axes);
    return absl::OkStatus();
  };
  key.write = [=](const JobSpec& spec) {
    Json map = Json::object();
    for (const auto& [name, size] : field(spec)) map[name] = size;
    return map;
  };
  return key;
}

// "embed" or "residual/position"; which names exist is for the mapping to say.
Status CheckDimName(const ConfigNode& node, const std::string& path, std::string_view name) {
  const size_t slash = name.find('/');
  const bool good = slash == std::string_view::npos
                        ? IsAxisName(name)
                        : IsAxisName(name.substr(0, slash)) && IsAxisName(name.substr(slash + 1));
  if (good) return absl::OkStatus();
  return ConfigError(node.where, path,
                     "expected a dim or region/dim of a-z, 0-9 and _, got " + ShowText(name));
}

// The axes of one mapping entry: a name, a list of names, or null.
Status ReadMappedAxes(const ConfigNode& node, const std::string& path,
                      std::vector<std::string>* axes) {
  const auto add = [&](const ConfigNode& item) -> Status {
    if (!item.is_scalar()) return Expected(item, path, "an axis, a list of axes, or null");
    RETURN_IF_ERROR(CheckAxisName(item, path, item.text));
    if (std::find(axes->begin(), axes->end(), item.text) != axes->end()) {
      return ConfigError(item.where, path, "axis " + item.text + " is given twice; keep one");
    }
    axes->push_back(item.text);
    return absl::OkStatus();
  };
  if (node.is_null()) return absl::OkStatus();
  if (!node.is_list()) return add(node);
  for (const ConfigNode& item : node.items) RETURN_IF_ERROR(add(item));
  return absl::OkStatus();
}

template <typename Field>
JobKey MappingKey(std::string path, std::string default_text, Field field, std::string meaning) {
  JobKey key{std::move(path), "a map from dim (or region/dim) to an axis, a list of axes, or null",
             std::move(meaning)};
  key.default_text = std::move(default_text);
  key.read = [=](const ConfigNode& node, const std::string& at, JobSpec* spec) -> Status {
    if (!node.is_map() && !node.is_null()) {
      return Expected(node, at, "a map from dim to axis, for example {embed: data}");
    }
    DimMapping mapping;
    for (const auto& [dim, value] : node.entries) {
      RETURN_IF_ERROR(CheckDimName(value, at, dim));
      RETURN_IF_ERROR(ReadMappedAxes(value, JoinPath(at, dim), &mapping[dim]));
    }
    field(*spec) = std::move(mapping);
    return absl::OkStatus();
  };
  key.write = [=](const JobSpec& spec) {
    Json map = Json::object();
    for (const auto& [dim, axes] : field(spec)) {
      if (axes.empty()) {
        map[dim] = nullptr;
      } else if (axes.size() == 1) {
        map[dim] = axes[0];
      } else {
        map[dim] = axes;
      }
    }
    return map;
  };
  return key;
}

const std::vector<std::string>& ReduceChoices() {
  static const auto* const choices = new std::vector<std::string>{"microbatch", "step"};
  return *choices;
}

JobKey ReduceKey() {
  JobKey key{
      "mesh.reduce", "microbatch or step, or a map of these, {ici: ..., dcn: ...}",
      "When a gradient is summed over data replicas: after every microbatch (less memory) or "
      "once a step (less traffic). A map says it for each fabric; one word is for both."};
  key.read = [](const ConfigNode& node, const std::string& at, JobSpec* spec) -> Status {
    if (!node.is_map()) {
      RETURN_IF_ERROR(ReadEnum(node, at, ReduceChoices(), &spec->mesh.reduce_ici));
      spec->mesh.reduce_dcn = spec->mesh.reduce_ici;
      return absl::OkStatus();
    }
    for (const auto& [fabric, value] : node.entries) {
      const std::string entry_path = JoinPath(at, fabric);
      if (fabric != "ici" && fabric != "dcn") {
        return ConfigError(value.where, entry_path,
                           "unknown key " + ShowText(fabric) + "; known here: ici, dcn");
      }
      ReducePolicy& policy = fabric == "ici" ? spec->mesh.reduce_ici : spec->mesh.reduce_dcn;
      RETURN_IF_ERROR(ReadEnum(value, entry_path, ReduceChoices(), &policy));
    }
    return absl::OkStatus();
  };
  key.write = [](const JobSpec& spec) {
    return Json{{"ici", ReduceChoices()[static_cast<size_t>(spec.mesh.reduce_ici)]},
                {"dcn", ReduceChoices()[static_cast<size_t>(spec.mesh.reduce_dcn)]}};
  };
  return key;
}

}  // namespace

std::vector<JobKey> MeshKeys() {
  return {
      AxesKey("mesh.axes", "{data: -1, replica: 1, model: 1}", TRIREME_FIELD(mesh.axes),
              "Axes inside a slice (ICI), laid over the default. -1 takes what is left, for one "
              "axis; data becomes 1 when another axis has -1."),
      AxesKey("mesh.dcn_axes", "{replica_dcn: -1}", TRIREME_FIELD(mesh.dcn_axes),
              "Axes between slices (DCN), laid over the default."),
      MappingKey(
          "mesh.shared_mapping",
          "{mlp: model, heads: model, vocab: model, position: context, expert: expert, "
          "layers: stage}; kv_heads follows heads",
          TRIREME_FIELD(mesh.mapping.shared),
          "Which axes split which dims, for activations and parameters. Entries are laid over "
          "the default; null unmaps. Axes the mesh lacks drop out."),
      MappingKey("mesh.compute_mapping",
                 "{batch: [replica_dcn, replica, data]}, and expert when that axis exists",
                 TRIREME_FIELD(mesh.mapping.compute),
                 "As shared_mapping, for activations only. residual/position: model is sequence "
                 "parallelism."),
      MappingKey("mesh.param_mapping", "{embed: data}", TRIREME_FIELD(mesh.mapping.param),
                 "As shared_mapping, for parameters only. The default is FSDP; embed: null keeps "
                 "parameters whole."),
      MappingKey("mesh.optimizer_mapping", "param_mapping", TRIREME_FIELD(mesh.mapping.optimizer),
                 "As param_mapping, for optimizer state. {embed: data} here and embed: null in "
                 "param_mapping is ZeRO-1."),
      EnumKey("mesh.gather", {"use", "step"}, TRIREME_FIELD(mesh.gather),
              "When a split parameter is gathered: at every use (less memory) or once a step (less "
              "traffic)."),
      ReduceKey(),
      EnumKey("mesh.dcn_reduce", {"hierarchical", "flat"}, TRIREME_FIELD(mesh.dcn_reduce),
              "Gradients between slices. hierarchical: summed inside a slice first, so that each "
              "rank sends its shard of them over DCN. flat: one sum over all replicas at once."),
      BoolKey("mesh.prefetch", TRIREME_FIELD(mesh.prefetch),
              "Gathers of split parameters are issued one block ahead and run beside the "
              "computation; with gather: use."),
  };
}

}  // namespace trireme
