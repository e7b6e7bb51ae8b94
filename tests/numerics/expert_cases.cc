// Layouts of mixtures of experts. Dropping needs a capacity factor, so none of these drops
// anything: all equal one rank.
#include "tests/numerics/layout_cases.h"

namespace trireme {
namespace {

std::string On(const std::string& axes, const std::string& more = "") {
  return "mesh.axes={" + axes + "}" + (more.empty() ? "" : "; " + more);
}

const char kAllToAll[] = "moe.dispatch=all_to_all";
const char kSp[] = "mesh.compute_mapping.residual/position=model";
// Experts over the axis that attention uses for tensor parallelism.
const char kFolded[] =
    "mesh.shared_mapping={experts/expert: model, experts/mlp: null}; "
    "mesh.param_mapping={experts/expert: model, experts/mlp: null}";
const char kFoldedBoth[] =
    "mesh.shared_mapping={experts/expert: [expert, model], experts/mlp: null}";

// Experts over the axis that shards parameters: the others' are sharded over it, theirs are dealt.
const char kOverData[] =
    "mesh.shared_mapping.expert=data; mesh.param_mapping.experts/embed=null; "
    "mesh.compute_mapping.batch=[replica_dcn, replica, data]";

std::string And(const std::string& a, const std::string& b) { return a + "; " + b; }

std::vector<LayoutCase> MixtralCases() {
  const std::string a2a = kAllToAll;
  const std::string remat = "train.remat=block";
  return {
      {"mixtral_1", On("data: 1"), "mixtral", 1},
      {"mixtral_micro1", On("data: 1", "train.microbatch_size=1"), "mixtral", 1},
      {"mixtral_fsdp2_remat", On("data: 2", remat), "mixtral", 2},
      {"mixtral_tp2", On("data: 1, model: 2"), "mixtral", 2},
      {"mixtral_ep2", On("data: 1, expert: 2"), "mixtral", 2},
      {"mixtral_ep2_a2a", On("data: 1, expert: 2", a2a), "mixtral", 2},
      {"mixtral_ep4", On("data: 1, expert: 4"), "mixtral", 4},
      {"mixtral_ep4_a2a", On("data: 1, expert: 4", a2a), "mixtral", 4},
      {"mixtral_ep2_fsdp2", On("data: 2, expert: 2"), "mixtral", 4},
      {"mixtral_ep2_fsdp2_a2a", On("data: 2, expert: 2", a2a), "mixtral", 4},
      {"mixtral_ep2_fsdp2_step_a2a",
       On("data: 2, expert: 2", And(a2a, "mesh.gather=step; mesh.reduce=step")), "mixtral", 4},
      {"mixtral_ep2_fsdp2_prefetch", On("data: 2, expert: 2", "mesh.prefetch=true"), "mixtral", 4},
      {"mixtral_ep2_tp2", On("data: 1, expert: 2, model: 2"), "mixtral", 4},
      {"mixtral_ep2_tp2_a2a", On("data: 1, expert: 2, model: 2", a2a), "mixtral", 4},
      {"mixtral_ep2_sp2", On("data: 1, expert: 2, model: 2", kSp), "mixtral", 4},
      {"mixtral_ep2_sp2_a2a", On("data: 1, expert: 2, model: 2", And(kSp, a2a)), "mixtral", 4},
      {"mixtral_ep2_pp2", On("stage: 2, data: 1, expert: 2"), "mixtral", 4},
      {"mixtral_ep2_pp3_a2a_gpipe",
       On("stage: 3, data: 1, expert: 2", And(a2a, "pipeline.order=gpipe")), "mixtral", 6},
      {"mixtral_ep2_dcn2", On("data: 1, expert: 2"), "mixtral", 4, 2},
      {"mixtral_ep2_dcn2_a2a", On("data: 1, expert: 2", a2a), "mixtral", 4, 2},
      {"mixtral_ep2_zb", On("stage: 2, data: 1, expert: 2", "pipeline.order=zero_bubble_h1"),
       "mixtral", 4},
      {"mixtral_ep2_remat_a2a", On("data: 1, expert: 2", And(a2a, remat)), "mixtral", 2},
      {"mixtral_ep4_remat", On("data: 1, expert: 4", remat), "mixtral", 4},
      {"mixtral_folded2", On("data: 1, model: 2", kFolded), "mixtral", 2},
      {"mixtral_folded2_a2a_sp",
       On("data: 1, model: 2",
          And(And(kFolded, kSp), And(a2a, "mesh.compute_mapping.mlp/position=model"))),
       "mixtral", 2},
      {"mixtral_folded2x2", On("data: 1, expert: 2, model: 2", kFoldedBoth), "mixtral", 4},
      {"mixtral_folded2_a2a", On("data: 1, model: 2", And(kFolded, a2a)), "mixtral", 2},
      {"mixtral_folded2x2_a2a", On("data: 1, expert: 2, model: 2", And(kFoldedBoth, a2a)),
       "mixtral", 4},
      {"mixtral_over_data2", On("data: 2", kOverData), "mixtral", 2},
      {"mixtral_over_data2_a2a", On("data: 2", And(kOverData, a2a)), "mixtral", 2},
      {"grug_over_data2_tp2_a2a", On("data: 2, model: 2", And(kOverData, a2a)), "grug", 4},
      // Rows travel over an axis that splits no experts: tokens are not split over it there.
      {"mixtral_folded_beside_expert_a2a", On("data: 1, expert: 2, model: 2", And(kFolded, a2a)),
       "mixtral", 4},
      {"mixtral_experts_see_whole_batch_a2a",
       On("data: 2, expert: 2", And(a2a, "mesh.compute_mapping.experts/batch=null")), "mixtral", 4},
      {"mixtral_router_tp2_a2a",
       On("data: 1, expert: 2, model: 2", And(a2a, "mesh.compute_mapping.router_expert=model")),
       "mixtral", 4},
      // Capacities that hold whatever comes: one wave, nothing dropped.
      {"mixtral_ep2_capacity", On("data: 1, expert: 2", "moe.capacity_factor=2"), "mixtral", 2},
      {"mixtral_ep4_capacity_a2a",
       On("data: 1, expert: 4", "moe={dispatch: all_to_all, capacity_factor: 4}"), "mixtral", 4},
  };
}

std::vector<LayoutCase> OtherCases() {
  const std::string a2a = kAllToAll;
  const std::string remat = "train.remat=block";
  return {
      {"grug_1", On("data: 1"), "grug", 1},
      {"grug_micro1", On("data: 1", "train.microbatch_size=1"), "grug", 1},
      {"grug_groups2_dp2", On("data: 2"), "grug_groups2", 2},
      {"grug_router_tp2", On("data: 1, model: 2", "mesh.shared_mapping.router_expert=model"),
       "grug", 2},
      {"grug_tp2", On("data: 1, model: 2"), "grug", 2},
      {"grug_tp4_kv_whole", On("data: 1, model: 4"), "grug", 4},
      {"grug_ep2", On("data: 1, expert: 2"), "grug", 2},
      {"grug_ep4_a2a", On("data: 1, expert: 4", a2a), "grug", 4},
      {"grug_ep4_fsdp2", On("data: 2, expert: 4"), "grug", 8},
      {"grug_ep2_tp2_a2a", On("data: 1, expert: 2, model: 2", a2a), "grug", 4},
      {"grug_ep2_sp2_async",
       On("data: 1, expert: 2, model: 2", "tensor_parallel={mode: reduce_scatter, async: true}"),
       "grug", 4},
      {"grug_ep2_pp2_1f1b_remat", On("stage: 2, data: 1, expert: 2", remat), "grug", 4},
      {"grug_ep2_pp2_interleaved",
       On("stage: 2, data: 1, expert: 2", "pipeline.order=interleaved_1f1b"), "grug", 4},
      {"grug_ep2_context2", On("data: 1, context: 2, expert: 2"), "grug", 4},
      {"grug_ep2_context2_a2a", On("data: 1, context: 2, expert: 2", a2a), "grug", 4},
      {"grug_ep2_dcn2", On("data: 1, expert: 2"), "grug", 4, 2},
      {"grug_zero1", On("data: 2, expert: 2", "zero.stage=1"), "grug", 4},
      {"deepseek_1", On("data: 1"), "deepseek", 1},
      {"deepseek_ep2", On("data: 1, expert: 2"), "deepseek", 2},
      {"deepseek_ep4_a2a", On("data: 1, expert: 4", a2a), "deepseek", 4},
      {"deepseek_ep2_fsdp2_tp2", On("data: 2, expert: 2, model: 2"), "deepseek", 8},
      {"deepseek_ep2_pp2_zb_v", On("stage: 2, data: 1, expert: 2", "pipeline.order=zero_bubble_v"),
       "deepseek", 4},
      {"deepseek_ep2_pp2_a2a", On("stage: 2, data: 1, expert: 2", a2a), "deepseek", 4},
  };
}

}  // namespace

std::vector<LayoutCase> ExpertCases() {
  std::vector<LayoutCase> cases = MixtralCases();
  for (LayoutCase& layout : OtherCases()) cases.push_back(std::move(layout));
  return cases;
}

}  // namespace trireme
