// Lays the job's mappings over the defaults, entry by entry, and remembers where each entry came
// from.
#include "common/sharding/mapping.h"

#include <algorithm>
#include <array>

namespace trireme {
namespace {

constexpr std::array<std::string_view, 7> kBuiltInAxes = {
    "replica_dcn", "stage", "replica", "data", "context", "expert", "model"};

// One resolved map under construction, with the origin of every key.
struct Resolver {
  DimMapping map;
  std::map<std::string, std::string> origin;

  void Set(const std::string& source, const std::string& key, std::vector<std::string> axes,
           const std::string& reason);
  void SetAll(const std::string& source, const DimMapping& entries, const std::string& reason) {
    for (const auto& [key, axes] : entries) Set(source, key, axes, reason);
  }
};

std::string AxesText(const std::vector<std::string>& axes) {
  if (axes.empty()) return "null";
  if (axes.size() == 1) return axes[0];
  std::string text;
  for (const std::string& axis : axes) text += (text.empty() ? "(" : ", ") + axis;
  return text + ")";
}

void Resolver::Set(const std::string& source, const std::string& key, std::vector<std::string> axes,
                   const std::string& reason) {
  origin[key] = source + " " + key + ": " + AxesText(axes) + " (" + reason + ")";
  map[key] = std::move(axes);
}

// Levenshtein distance: single-character insertions, deletions and replacements.
size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

// "unknown <what> 'x'; did you mean 'y'? Known: a, b, c"
Status UnknownName(const std::string& where, const std::string& what, std::string_view name,
                   const std::vector<std::string_view>& known) {
  std::string_view nearest = known[0];
  std::string list;
  for (std::string_view candidate : known) {
    if (EditDistance(name, candidate) < EditDistance(name, nearest)) nearest = candidate;
    list += (list.empty() ? "" : ", ") + std::string(candidate);
  }
  return InvalidArgument(where + ": unknown " + what + " '" + std::string(name) +
                         "'; did you mean '" + std::string(nearest) + "'? Known: " + list);
}

bool Contains(const std::vector<std::string_view>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

Status CheckKey(const std::string& where, std::string_view key) {
  const size_t slash = key.find('/');
  if (slash != std::string_view::npos) {
    const std::string_view region = key.substr(0, slash);
    if (!Contains(KnownRegions(), region)) {
      return UnknownName(where, "region", region, KnownRegions());
    }
    key = key.substr(slash + 1);
  }
  if (key == "slot" || key == "token_shard" || key == "expert_shard") {
    return InvalidArgument(where + ": rows of experts lie as the tokens and experts they belong " +
                           "to; map batch, position or expert, in region mlp or experts");
  }
  if (!Contains(KnownDims(), key)) return UnknownName(where, "dim", key, KnownDims());
  return absl::OkStatus();
}

Status CheckEntries(const Mesh& mesh, const std::string& source, const DimMapping& entries) {
  std::vector<std::string_view> known(kBuiltInAxes.begin(), kBuiltInAxes.end());
  for (const MeshAxis& axis : mesh.axes()) {
    if (!Contains(known, axis.name)) known.push_back(axis.name);
  }
  for (const auto& [key, axes] : entries) {
    const std::string where = source + " " + key;
    RETURN_IF_ERROR(CheckKey(where, key));
    for (auto axis = axes.begin(); axis != axes.end(); ++axis) {
      if (!Contains(known, *axis)) return UnknownName(where, "mesh axis", *axis, known);
      if (std::find(axes.begin(), axis, *axis) != axis) {
        return InvalidArgument(where + ": names axis '" + *axis + "' twice in " + AxesText(axes) +
                               "; keep one of them");
      }
    }
  }
  return absl::OkStatus();
}

// kv_heads goes where heads goes, also in a region, except where the job says otherwise.
void LetKvHeadsFollow(const std::string& source, Resolver& resolver) {
  auto set_by_job = [&](const std::string& key) {
    auto it = resolver.origin.find(key);
    return it != resolver.origin.end() && it->second.find("(job)") != std::string::npos;
  };
  if (set_by_job("kv_heads")) return;
  const DimMapping before = resolver.map;
  for (const auto& [key, axes] : before) {
    const size_t dim = key.rfind('/') == std::string::npos ? 0 : key.rfind('/') + 1;
    if (key.substr(dim) != "heads") continue;
    const std::string kv_key = key.substr(0, dim) + "kv_heads";
    if (!set_by_job(kv_key)) resolver.Set(source, kv_key, axes, "follows " + key);
  }
}

using AxisNames = std::vector<std::string>;

// What `dim` is mapped to in `region`.
AxisNames AxesIn(const Resolver& resolver, const std::string& region, const std::string& dim) {
  for (const std::string& key : {region + "/" + dim, dim}) {
    if (const auto it = resolver.map.find(key); it != resolver.map.end()) return it->second;
  }
  return {};
}

// `axes` that are not among `others`.
AxisNames Without(const AxisNames& axes, const AxisNames& others) {
  AxisNames rest;
  for (const std::string& axis : axes) {
    if (std::find(others.begin(), others.end(), axis) == others.end()) rest.push_back(axis);
  }
  return rest;
}

// Tokens inside the experts region lie as in the mlp region, but gathered over the axes that split
// experts. Slots lie like the tokens that fill them, axes that split experts last: those are the
// ones that rows travel over.
void LetExpertTokensFollow(Resolver& resolver) {
  const AxisNames expert = AxesIn(resolver, "experts", "expert");
  for (const char* dim : {"batch", "position"}) {
    const std::string key = std::string("experts/") + dim;
    if (resolver.map.count(key) > 0) continue;
    AxisNames axes = Without(AxesIn(resolver, "mlp", dim), expert);
    axes = Without(axes, {"expert"});
    resolver.Set("compute_mapping", key, axes, std::string("follows ") + dim + ", without expert");
  }
  for (const std::string region : {"mlp", "experts"}) {
    AxisNames tokens = AxesIn(resolver, region, "batch");
    for (const std::string& axis : AxesIn(resolver, region, "position")) tokens.push_back(axis);
    AxisNames axes = Without(tokens, expert);
    for (const std::string& axis : Without(tokens, axes)) axes.push_back(axis);
    for (const char* dim : {"/slot", "/token_shard"}) {
      resolver.Set("compute_mapping", region + dim, axes, "follows batch and position");
    }
  }
  resolver.Set("compute_mapping", "expert_shard", expert, "follows expert");
}

Resolver SharedDefaults() {
  Resolver resolver;
  resolver.SetAll("shared_mapping",
                  {{"mlp", {"model"}},
                   {"heads", {"model"}},
                   {"vocab", {"model"}},
                   {"expert", {"expert"}},
                   {"layers", {"stage"}}},
                  "default");
  return resolver;
}

Resolver ResolveCompute(const Mesh& mesh, const MappingConfig& config) {
  Resolver resolver = SharedDefaults();
  std::vector<std::string> batch = {"replica_dcn", "replica", "data"};
  const auto expert = mesh.FindAxis("expert");
  if (expert && mesh.axis(*expert).size > 1) batch.push_back("expert");
  resolver.SetAll("compute_mapping", {{"batch", batch}, {"position", {"context"}}}, "default");
  resolver.SetAll("shared_mapping", config.shared, "job");
  resolver.SetAll("compute_mapping", config.compute, "job");
  LetKvHeadsFollow("compute_mapping", resolver);
  LetExpertTokensFollow(resolver);
  return resolver;
}

Resolver ResolveParam(const MappingConfig& config) {
  Resolver resolver = SharedDefaults();
  resolver.SetAll("shared_mapping", config.shared, "job");
  resolver.Set("param_mapping", "embed", {"data"}, "default");
  resolver.SetAll("param_mapping", config.param, "job");
  LetKvHeadsFollow("param_mapping", resolver);
  return resolver;
}

Resolver ResolveOptimizer(Resolver resolver, const MappingConfig& config) {
  resolver.SetAll("optimizer_mapping", config.optimizer, "job");
  const bool moves_heads =
      std::any_of(config.optimizer.begin(), config.optimizer.end(),
                  [](const auto& entry) { return entry.first.find("heads") != std::string::npos; });
  if (moves_heads) LetKvHeadsFollow("optimizer_mapping", resolver);
  return resolver;
}

}  // namespace

const std::vector<std::string_view>& KnownDims() {
  static const auto& dims = *new std::vector<std::string_view>{
      "batch", "position", "key_position", "embed",         "heads",  "kv_heads",    "head_dim",
      "mlp",   "vocab",    "expert",       "router_expert", "layers", "max_position"};
  return dims;
}

const std::vector<std::string_view>& KnownRegions() {
  static const auto& regions = *new std::vector<std::string_view>{
      "residual", "attention", "mlp", "experts", "head", "optimizer", "stage_edge"};
  return regions;
}

StatusOr<Mapping> Mapping::Create(const Mesh& mesh, const MappingConfig& config) {
  RETURN_IF_ERROR(CheckEntries(mesh, "shared_mapping", config.shared));
  RETURN_IF_ERROR(CheckEntries(mesh, "compute_mapping", config.compute));
  RETURN_IF_ERROR(CheckEntries(mesh, "param_mapping", config.param));
  RETURN_IF_ERROR(CheckEntries(mesh, "optimizer_mapping", config.optimizer));
  Mapping mapping;
  mapping.mesh_ = mesh;
  Resolver param = ResolveParam(config);
  Resolver resolvers[3] = {ResolveCompute(mesh, config), param, ResolveOptimizer(param, config)};
  for (int kind = 0; kind < 3; ++kind) {
    mapping.resolved_[kind] = std::move(resolvers[kind].map);
    mapping.origin_[kind] = std::move(resolvers[kind].origin);
  }
  return mapping;
}

MappedAxes Mapping::Lookup(MappingKind kind, std::string_view region, std::string_view dim) const {
  const int index = static_cast<int>(kind);
  std::string key = std::string(region) + "/" + std::string(dim);
  auto entry = resolved_[index].find(key);
  if (entry == resolved_[index].end()) {
    key = std::string(dim);
    entry = resolved_[index].find(key);
  }
  MappedAxes mapped;
  if (entry == resolved_[index].end()) return mapped;
  for (const std::string& name : entry->second) {
    const auto axis = mesh_.FindAxis(name);
    if (axis && mesh_.axis(*axis).size > 1) mapped.axes.push_back(*axis);
  }
  mapped.entry = origin_[index].at(key);
  return mapped;
}

const DimMapping& Mapping::resolved(MappingKind kind) const {
  return resolved_[static_cast<int>(kind)];
}

}  // namespace trireme
