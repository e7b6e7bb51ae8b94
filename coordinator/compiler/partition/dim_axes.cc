// Mapping look-ups with the divisibility rules of DESIGN.md 4.
#include "coordinator/compiler/partition/dim_axes.h"

#include <numeric>

#include "common/base/math.h"

namespace trireme {
namespace {

std::string Divisors(int64_t n) {
  std::string text;
  for (int64_t d = 1; d <= n && d <= 4096; ++d) {
    if (n % d == 0) text += (text.empty() ? "" : ", ") + std::to_string(d);
  }
  return text;
}

std::string AxesText(const Mesh& mesh, const std::vector<int>& axes) {
  std::string text;
  for (const int axis : axes) text += (text.empty() ? "" : ",") + mesh.axis(axis).name;
  return axes.size() == 1 ? text : "(" + text + ")";
}

// A pair of dims that name the same split of one thing, so both may follow one axis in one op: rows
// of experts lie with the tokens they are copies of and with the experts they are for.
bool Aligned(const std::string& a, const std::string& b) {
  const auto is = [&](const char* x, const char* y) {
    return (a == x && b == y) || (a == y && b == x);
  };
  if (is("heads", "kv_heads") || is("position", "key_position")) return true;
  if (is("slot", "token_shard") || is("expert", "expert_shard")) return true;
  for (const char* const rows : {"slot", "token_shard"}) {
    if (is("batch", rows) || is("position", rows)) return true;
  }
  return false;
}

}  // namespace

StatusOr<std::vector<int>> DimAxes::Axes(MappingKind kind, const std::string& region,
                                         const Dim& dim, const std::string& what) {
  const auto key = std::make_tuple(kind, region, dim.name, dim.size);
  const auto it = cache_.find(key);
  if (it != cache_.end()) return it->second;
  ASSIGN_OR_RETURN(std::vector<int> axes, Compute(kind, region, dim, what));
  cache_[key] = axes;
  return axes;
}

StatusOr<std::vector<int>> DimAxes::Compute(MappingKind kind, const std::string& region,
                                            const Dim& dim, const std::string& what) {
  const MappedAxes mapped = mapping_.Lookup(kind, region, dim.name);
  const int64_t shards = mesh_.GroupSize(mapped.axes);
  if (dim.name == "kv_heads") {
    const std::vector<int> heads = mapping_.Lookup(kind, region, "heads").axes;
    if (!mapped.axes.empty() && mapped.axes != heads) {
      return InvalidArgument("kv_heads is mapped to " + AxesText(mesh_, mapped.axes) +
                             " but heads to " + AxesText(mesh_, heads) +
                             "; kv_heads must follow heads or be null");
    }
    if (dim.size % shards != 0) {
      AddReason("KV_HEADS_WHOLE", "kv_heads " + std::to_string(dim.size) +
                                      " does not divide over " + AxesText(mesh_, mapped.axes) +
                                      " " + std::to_string(shards) +
                                      ": keys and values are kept whole on every rank of it");
      return std::vector<int>{};
    }
    return mapped.axes;
  }
  if (dim.name == "vocab" || shards <= 1 || dim.physical() % shards == 0) return mapped.axes;
  return InvalidArgument(what + ": " + dim.name + " " + std::to_string(dim.size) +
                         " does not divide over " + AxesText(mesh_, mapped.axes) + " (" +
                         std::to_string(shards) + " shards; " + mapped.entry + "); divisors of " +
                         std::to_string(dim.size) + ": " + Divisors(dim.size) +
                         "; or unmap it with null");
}

StatusOr<Sharding> DimAxes::ShardingOf(MappingKind kind, const std::string& region,
                                       const std::vector<Dim>& dims, const std::string& what) {
  Sharding sharding = Replicated(static_cast<int>(dims.size()));
  std::map<int, std::string> taken;
  for (size_t i = 0; i < dims.size(); ++i) {
    ASSIGN_OR_RETURN(sharding.dim_axes[i], Axes(kind, region, dims[i], what));
    for (const int axis : sharding.dim_axes[i]) {
      const auto [it, added] = taken.emplace(axis, dims[i].name);
      if (!added && !Aligned(it->second, dims[i].name)) {
        return InvalidArgument(
            what + ": dims " + it->second + " and " + dims[i].name + " both want axis " +
            mesh_.axis(axis).name + " (" + EntryFor(kind, region, it->second) + "; " +
            EntryFor(kind, region, dims[i].name) + "); map one of them to another axis or to null");
      }
    }
  }
  return sharding;
}

std::string DimAxes::EntryFor(MappingKind kind, const std::string& region,
                              const std::string& dim) const {
  return mapping_.Lookup(kind, region, dim).entry;
}

StatusOr<int64_t> DimAxes::PaddedVocab(int64_t vocab_size) {
  int64_t multiple = 1;
  for (const MappingKind kind :
       {MappingKind::kCompute, MappingKind::kParam, MappingKind::kOptimizer}) {
    multiple = std::lcm(multiple, mesh_.GroupSize(mapping_.Lookup(kind, "head", "vocab").axes));
  }
  const int64_t padded = RoundUp(vocab_size, multiple);
  if (padded != vocab_size) {
    AddReason("VOCAB_PADDED", "vocab " + std::to_string(vocab_size) + " is padded to " +
                                  std::to_string(padded) + " so that " + std::to_string(multiple) +
                                  " shards are equal; padded rows are masked");
  }
  return padded;
}

void DimAxes::AddReason(const std::string& code, const std::string& text) {
  for (const Reason& reason : reasons_) {
    if (reason.text == text) return;
  }
  reasons_.push_back({code, text});
}

}  // namespace trireme
