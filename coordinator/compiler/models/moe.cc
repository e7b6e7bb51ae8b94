// Toy mixture of experts: softmax top-k router, SwiGLU experts, fixed capacity. Written on named
// dims, ring dispatch falls out of the partitioner: crossing into region `experts`, where batch is
// not split over the expert axis, gathers the tokens around it; combine leaves a sum over experts
// that the way back reduce-scatters.
#include <algorithm>
#include <cmath>

#include "common/base/math.h"
#include "coordinator/compiler/models/model.h"

namespace trireme {
namespace {

// Slots of one expert over the whole mesh. Without a capacity factor every token has room.
int64_t Capacity(const ModelContext& context) {
  const MoeSpec& moe = context.spec.moe;
  const int64_t tokens = context.shape.batch * context.shape.position;
  if (moe.capacity_factor <= 0) return tokens;
  const double wanted = moe.capacity_factor * static_cast<double>(tokens) *
                        static_cast<double>(moe.num_experts_per_tok) /
                        static_cast<double>(moe.num_experts);
  const int64_t rounded =
      RoundUp(static_cast<int64_t>(std::ceil(wanted)), context.shape.data_shards);
  return std::min(tokens, rounded);
}

}  // namespace

int MoeMlp(GraphBuilder& b, const ModelContext& context, int h) {
  const MoeSpec& moe = context.spec.moe;
  const std::string prefix = "model.layers.{layer}.block_sparse_moe.";
  b.SetRegion("mlp");
  const int router = b.Param(context.Matrix(
      prefix + "gate.weight", {context.Embed(), {"router_expert", moe.num_experts}}, "mlp", false));
  const int logits = b.Dot(h, router, {"batch", "position", "router_expert"}, "router_logits");
  const std::vector<int> routed =
      b.Add("route", {{"k", moe.num_experts_per_tok}}, {logits}, "expert_ids");
  const int x = b.Rename(h, "experts", {}, "expert_in");
  const int ids = b.Rename(routed[0], "experts", {}, "ids");
  const int weights = b.Rename(routed[1], "experts", {}, "combine_weights");
  b.SetRegion("experts");
  const std::vector<int> rows =
      b.Add("dispatch", {{"num_experts", moe.num_experts}, {"capacity", Capacity(context)}},
            {x, ids}, "rows");
  const Dim expert = {"expert", moe.num_experts};
  const auto matrix = [&](const std::string& name, const Dim& in, const Dim& out) {
    return b.Param(context.Matrix(prefix + "experts." + name + "_proj.weight", {expert, in, out},
                                  "experts", true));
  };
  const std::vector<std::string> inner_dims = {"expert", "slot", "mlp"};
  const int gate =
      b.Dot(rows[0], matrix("gate", context.Embed(), context.Mlp()), inner_dims, "gate");
  const int up = b.Dot(rows[0], matrix("up", context.Embed(), context.Mlp()), inner_dims, "up");
  const int inner = b.Add1("swiglu", {}, {gate, up}, "inner");
  const int out = b.Dot(inner, matrix("down", context.Mlp(), context.Embed()),
                        {"expert", "slot", "embed"}, "expert_out");
  return b.Add1("combine", {}, {out, rows[1], weights}, "combined");
}

}  // namespace trireme
