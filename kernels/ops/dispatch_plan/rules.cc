// Sorts the assignments (token, choice) of the local tokens by expert into pools of rows of static
// size. Attributes, all global: num_experts, expert_shards, token_shards, capacity (rows of a pool,
// for each pair of token shard and expert shard), waves (pools that are filled one after the
// other), thin (1: a single pool, from which every expert and every source loses the same share),
// shard_dim and expert_dim (names of the expert shards' and experts' dims).
#include "kernels/ops/signature.h"

namespace trireme {
namespace {

Status CheckSizes(const Node& node, int64_t tokens) {
  const Attrs& attrs = node.attrs;
  for (const char* const name :
       {"num_experts", "expert_shards", "token_shards", "capacity", "waves"}) {
    if (attrs.GetInt(name) >= 1) continue;
    return OpError(
        node, std::string(name) + "=" + std::to_string(attrs.GetInt(name)) + " must be at least 1");
  }
  const int64_t experts = attrs.GetInt("num_experts");
  const int64_t expert_shards = attrs.GetInt("expert_shards");
  if (experts % expert_shards != 0) {
    return OpError(node, "expert_shards=" + std::to_string(expert_shards) +
                             " does not divide num_experts=" + std::to_string(experts));
  }
  const int64_t token_shards = attrs.GetInt("token_shards");
  if (tokens % token_shards != 0) {
    return OpError(node, "token_shards=" + std::to_string(token_shards) + " does not divide " +
                             std::to_string(tokens) + " tokens");
  }
  const int64_t thin = attrs.GetInt("thin");
  if (thin != 0 && (thin != 1 || attrs.GetInt("waves") != 1)) {
    return OpError(node, "thin=" + std::to_string(thin) + " must be 0, or 1 with waves=1; waves=" +
                             std::to_string(attrs.GetInt("waves")));
  }
  return absl::OkStatus();
}

StatusOr<std::vector<ValueType>> Infer(const Graph& graph, const Node& node) {
  RETURN_IF_ERROR(CheckAttrs(node, {"num_experts", "expert_shards", "token_shards", "capacity",
                                    "waves", "thin", "shard_dim", "expert_dim"}));
  ASSIGN_OR_RETURN(const Binding dims,
                   BindOperands(graph, node, "ids:int32[batch,position,choice]"));
  RETURN_IF_ERROR(CheckSizes(node, dims.dim("batch").size * dims.dim("position").size));
  const Attrs& attrs = node.attrs;
  const int64_t token_shards = attrs.GetInt("token_shards");
  const Dim wave = {.name = "wave", .size = attrs.GetInt("waves")};
  const Dim shard = {.name = attrs.GetString("shard_dim"), .size = attrs.GetInt("expert_shards")};
  const Dim slot = {.name = "slot", .size = attrs.GetInt("capacity") * token_shards};
  const Dim token_shard = {.name = "token_shard", .size = token_shards};
  const Dim expert = {.name = attrs.GetString("expert_dim"), .size = attrs.GetInt("num_experts")};
  return std::vector<ValueType>{{{wave, shard, slot}, DType::kInt32},
                                {{wave, token_shard, expert}, DType::kInt32},
                                {{}, DType::kInt32},
                                {{}, DType::kFloat64},
                                {{}, DType::kFloat64}};
}

// Who plans for destinations plans for all of them.
std::vector<std::string> Whole(const Graph& graph, const Node& node) {
  std::vector<std::string> whole = {In(graph, node, 0).dims[2].name, "wave"};
  if (node.attrs.GetString("shard_dim") == "destination") {
    whole.insert(whole.end(), {"destination", node.attrs.GetString("expert_dim")});
  }
  return whole;
}

std::vector<IndexAttr> IndexAttrs(const Graph&, const Node& node) {
  return {{"expert_start", /*operand=*/2, node.attrs.GetString("expert_dim")}};
}

}  // namespace

OpRule Rule_dispatch_plan() {
  return {.name = "dispatch_plan", .infer = Infer, .whole = Whole, .index_attrs = IndexAttrs};
}

}  // namespace trireme
