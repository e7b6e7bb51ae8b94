// A router and its experts, written on named dims. Which ranks hold which experts and how rows
// reach them follows from mesh and mapping; only the sizes of the pools of rows are decided here.
#include <algorithm>
#include <cmath>

#include "common/base/math.h"
#include "coordinator/compiler/models/model.h"
#include "kernels/ops/router_stats/layout.h"

namespace trireme {
namespace {

// Room of a pool beyond the even share. What does not fit goes into another wave, so it trades
// memory for waves and drops nothing.
constexpr double kPoolSlack = 1.25;

// Static sizes of one exchange.
struct Pools {
  int64_t capacity = 0;  // rows of a pool: of one part of the tokens for one part of the experts
  int64_t waves = 1;
  bool thin = false;  // more assignments than rows are thinned out evenly
  double fill = 1;    // expected part of a pool that is filled
};

// Of shapes that do not divide too, which are refused where tensors are placed. Only training drops
// anything: what a model generates does not depend on how much room it was trained with.
Pools SizePools(const ModelContext& context, int64_t token_shards) {
  const ExpertsSpec& experts = context.spec.experts;
  const int64_t shards = context.shape.expert_shards;
  const int64_t tokens = CeilDiv(context.shape.batch * context.shape.position, token_shards);
  const int64_t k = experts.num_experts_per_tok;
  const int64_t most = tokens * std::min(k, CeilDiv(experts.num_experts, shards));
  const double share = static_cast<double>(tokens * k) / static_cast<double>(shards);
  const bool drops = context.moe.capacity_factor > 0 && context.purpose == Purpose::kTrain;
  const double factor = drops ? context.moe.capacity_factor : kPoolSlack;
  Pools pools;
  pools.capacity = std::clamp<int64_t>(static_cast<int64_t>(std::ceil(factor * share)), 1, most);
  if (shards == 1 && !drops) pools.capacity = most;
  pools.thin = drops && pools.capacity < most;
  pools.waves = drops ? 1 : CeilDiv(most, pools.capacity);
  pools.fill = std::min(1.0, share / static_cast<double>(pools.capacity));
  return pools;
}

struct Router {
  int logits = -1;
  int ids = -1;
  int weights = -1;
  int bias = -1;  // -1 = none
};

Router Route(GraphBuilder& b, const ModelContext& context, int h, const RouterDesign& design) {
  const ExpertsSpec& experts = context.spec.experts;
  const Dim expert = {"router_expert", experts.num_experts};
  Router router;
  const int w = b.Param(context.Matrix(design.weight, {context.Embed(), expert}, "mlp", true));
  router.logits = b.Dot(h, w, {"batch", "position", "router_expert"}, "router_logits");
  std::vector<int> inputs = {router.logits};
  if (!design.bias.empty()) {
    LogicalTensor bias = context.Vector(design.bias, {expert}, "mlp", InitKind::kZeros);
    bias.balance_rule = design.balance_rule;
    bias.balance_rate = experts.bias_update_rate;
    router.bias = b.Param(bias);
    inputs.push_back(router.bias);
  }
  inputs.push_back(b.Input("segments", context.Tokens(), DType::kInt32));
  const Attrs attrs = {{"k", experts.num_experts_per_tok},
                       {"score", design.score},
                       {"bias_to", design.bias_to},
                       {"renormalise", int64_t{experts.norm_topk_prob}},
                       {"total", design.total},
                       {"eps", design.eps}};
  const std::vector<int> routed = b.Add("route", attrs, inputs, "expert_ids");
  router.ids = routed[0];
  router.weights = routed[1];
  return router;
}

// What the router adds to the loss, and its sums of the step.
void Judge(GraphBuilder& b, const ModelContext& context, const RouterDesign& design,
           const Router& router) {
  const ExpertsSpec& experts = context.spec.experts;
  Graph& graph = b.graph();
  const int64_t group = context.moe.balance_group_sequences;
  const int loss_weights = b.Input("weights", context.Tokens(), DType::kFloat32);
  const int segments = b.Input("segments", context.Tokens(), DType::kInt32);
  if (experts.aux_loss_coef > 0 || experts.z_loss_coef > 0) {
    const Attrs attrs = {{"balance", experts.aux_loss_coef},
                         {"z", experts.z_loss_coef},
                         {"group", group},
                         {"score", design.score}};
    graph.loss = b.Add1("router_loss", attrs, {router.logits, router.ids, loss_weights, segments},
                        "router_loss");
    graph.contributions.push_back({graph.loss, "reduce", 0});
  }
  std::vector<int> inputs = {router.logits, router.ids};
  if (design.bias_to == "logits") inputs.push_back(router.bias);
  inputs.insert(inputs.end(), {loss_weights, segments});
  const Attrs attrs = {{"k", experts.num_experts_per_tok},
                       {"group", group},
                       {"score", design.score},
                       {"bias_to", design.bias_to}};
  graph.contributions.push_back(
      {b.Add1("router_stats", attrs, inputs, "router_stats"), "router_stats", 0});
}

}  // namespace

int MixtureOfExperts(GraphBuilder& b, const ModelContext& context, int h,
                     const RouterDesign& design, const std::string& prefix) {
  const ExpertsSpec& experts = context.spec.experts;
  const bool all_to_all = context.moe.dispatch == ExpertDispatch::kAllToAll;
  b.SetRegion("mlp");
  const Router router = Route(b, context, h, design);
  if (context.purpose == Purpose::kTrain) Judge(b, context, design, router);
  const Dim expert = {"expert", experts.num_experts};
  const Dim width = {"mlp", experts.width};
  const auto matrix = [&](const std::string& name, const Dim& in, const Dim& out) {
    return b.Param(
        context.Matrix(prefix + name + "_proj.weight", {expert, in, out}, "experts", true));
  };
  const int gate = matrix("gate", context.Embed(), width);
  const int up = matrix("up", context.Embed(), width);
  const int down = matrix("down", width, context.Embed());
  int x = h, ids = router.ids, weights = router.weights;
  if (!all_to_all) {
    x = b.Rename(x, "experts", {}, "expert_in");
    ids = b.Rename(ids, "experts", {}, "ids");
    weights = b.Rename(weights, "experts", {}, "combine_weights");
    b.SetRegion("experts");
  }
  const int64_t token_shards =
      all_to_all ? context.shape.token_shards : context.shape.expert_token_shards;
  const Pools pools = SizePools(context, token_shards);
  const Attrs attrs = {{"num_experts", experts.num_experts},
                       {"expert_shards", context.shape.expert_shards},
                       {"token_shards", token_shards},
                       {"capacity", pools.capacity},
                       {"waves", pools.waves},
                       {"thin", int64_t{pools.thin}},
                       {"choices", experts.num_experts_per_tok},
                       {"all_to_all", int64_t{all_to_all}},
                       {"fill", pools.fill}};
  const std::vector<int> outputs =
      b.Add("expert_mlp", attrs, {x, ids, weights, gate, up, down}, "experts_out");
  if (context.purpose == Purpose::kTrain) {
    const int64_t drops = all_to_all ? kRouterSenderDrops : kRouterReceiverDrops;
    b.graph().contributions.push_back({outputs[1], "router_stats", drops});
    b.graph().contributions.push_back({outputs[2], "router_stats", kRouterExtraWaves});
  }
  return outputs[0];
}

}  // namespace trireme
