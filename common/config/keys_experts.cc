// Rows of the job table: experts under the names of each architecture's Hugging Face configuration,
// what else grug_moe has, and section moe.
#include "common/config/experts.h"
#include "common/config/key_makers.h"

namespace trireme {
namespace {

// The names of how many experts a block has.
void AddCounts(std::vector<JobKey>* keys) {
  constexpr char kMeaning[] = "Experts of a block.";
  const auto count = [&](const std::string& name) {
    return IntKey("model." + name, {1, 1024}, TRIREME_FIELD(model.experts.num_experts), kMeaning);
  };
  keys->push_back(Of({"mixtral"}, "experts", WithDefault("`8`", count("num_local_experts"))));
  keys->push_back(Of({"qwen3_moe", "grug_moe"}, "experts",
                     WithDefault("qwen3_moe: 128; grug_moe: 64", count("num_experts"))));
  keys->push_back(Of({"deepseek_moe"}, "experts", Required(count("n_routed_experts"))));
  keys->push_back(Of(ExpertTypes(), "",
                     WithDefault("mixtral: 2; grug_moe: 4; qwen3_moe, deepseek_moe: 8",
                                 IntKey("model.num_experts_per_tok", {1, 1024},
                                        TRIREME_FIELD(model.experts.num_experts_per_tok),
                                        "Experts that each token goes to; at most all."))));
}

// deepseek_moe counts shared experts; a job keeps their width together.
JobKey SharedExpertsKey() {
  const IntRange range{0, 1024};
  JobKey key{"model.n_shared_experts", Describe(range),
             "Width of the MLP that every token passes beside its experts, in times "
             "moe_intermediate_size. 0: there is none."};
  key.read = [=](const ConfigNode& node, const std::string& at, JobSpec* spec) {
    return ReadInt(node, at, range, &spec->model.experts.shared_width);
  };
  key.write = [](const JobSpec& spec) {
    const ExpertsSpec& experts = spec.model.experts;
    return nlohmann::ordered_json(experts.width > 0 ? experts.shared_width / experts.width : 0);
  };
  return Of({"deepseek_moe"}, "shared", WithDefault("`1`", std::move(key)));
}

void AddWidths(std::vector<JobKey>* keys) {
  keys->push_back(
      Of({"qwen3_moe", "deepseek_moe", "grug_moe"}, "width",
         Required(IntKey("model.moe_intermediate_size", {1, 524288},
                         TRIREME_FIELD(model.experts.width), "Width inside an expert."))));
  keys->push_back(SharedExpertsKey());
  keys->push_back(
      Of({"grug_moe"}, "shared",
         WithDefault("hidden_size", IntKey("model.shared_expert_intermediate_size", {0, 524288},
                                           TRIREME_FIELD(model.experts.shared_width),
                                           "Width of the MLP that every token passes beside its "
                                           "experts. 0: there is none."))));
  keys->push_back(Of(
      {"deepseek_moe"}, "",
      IntKey("model.first_k_dense_replace", {0, 2047}, TRIREME_FIELD(model.experts.first_k_dense),
             "Blocks at the beginning that have an MLP of intermediate_size, no experts.")));
}

void AddRouter(std::vector<JobKey>* keys) {
  keys->push_back(Of({"qwen3_moe", "deepseek_moe"}, "",
                     BoolKey("model.norm_topk_prob", TRIREME_FIELD(model.experts.norm_topk_prob),
                             "Weights of the chosen experts are divided by their sum.")));
  keys->push_back(Of({"deepseek_moe"}, "",
                     NumberKey("model.routed_scaling_factor", {0, 1000, true, false},
                               TRIREME_FIELD(model.experts.routed_scaling_factor),
                               "Weights of the chosen experts are multiplied by it.")));
  keys->push_back(
      Of({"mixtral", "qwen3_moe", "deepseek_moe"}, "balance",
         WithDefault("mixtral: 0.01; qwen3_moe: 0.001; deepseek_moe: 0",
                     NumberKey("model.router_aux_loss_coef", {0, 1000},
                               TRIREME_FIELD(model.experts.aux_loss_coef),
                               "Load-balancing loss of each block; its value is this when experts "
                               "are loaded evenly. 0: none."))));
  keys->push_back(Of({"mixtral", "qwen3_moe", "grug_moe"}, "",
                     WithDefault("mixtral: 0.001; qwen3_moe, grug_moe: 0",
                                 NumberKey("model.router_z_loss_coef", {0, 1000},
                                           TRIREME_FIELD(model.experts.z_loss_coef),
                                           "Times the mean square of the log of the sum of the "
                                           "exponentials of a router's logits. 0: none."))));
  keys->push_back(Of({"deepseek_moe"}, "balance",
                     WithDefault("`0.001`", NumberKey("model.router_bias_update_rate", {0, 1},
                                                      TRIREME_FIELD(model.experts.bias_update_rate),
                                                      "How far a step moves the selection bias of "
                                                      "an expert."))));
}

void AddGrug(std::vector<JobKey>* keys) {
  keys->push_back(Of({"grug_moe"}, "",
                     WithDefault("`2048`", IntKey("model.sliding_window", {1, 16777216},
                                                  TRIREME_FIELD(model.sliding_window),
                                                  "Keys that a query sees, its own the last, in "
                                                  "all blocks but every fourth and the last."))));
  keys->push_back(Of(
      {"grug_moe"}, "",
      WithDefault("`1.3`",
                  NumberKey("model.qk_mult", {0, 1000, true, false}, TRIREME_FIELD(model.qk_mult),
                            "Queries are multiplied by it after their norm."))));
  keys->push_back(Of({"grug_moe"}, "",
                     WithDefault("`128`", IntKey("model.gated_norm_rank", {1, 131072},
                                                 TRIREME_FIELD(model.gated_norm_rank),
                                                 "Width inside the gate of a norm."))));
}

JobKey CapacityFactorKey() {
  JobKey key{"moe.capacity_factor", "none or a number > 0",
             "Room for the tokens that a rank's experts get, as a multiple of the even share; "
             "tokens beyond it are dropped, from all experts and sources alike, and counted. none: "
             "nothing is dropped; what does not fit goes in further rounds. Only training drops."};
  key.read = [](const ConfigNode& node, const std::string& at, JobSpec* spec) {
    if (node.is_scalar() && node.text == "none") {
      spec->moe.capacity_factor = 0;
      return absl::OkStatus();
    }
    const NumberRange range{0, 1e6, true, false};
    if (ReadNumber(node, at, range, &spec->moe.capacity_factor).ok()) return absl::OkStatus();
    return Expected(node, at, "none or a number > 0 and <= 1000000");
  };
  key.write = [](const JobSpec& spec) {
    const double factor = spec.moe.capacity_factor;
    return factor > 0 ? nlohmann::ordered_json(factor) : nlohmann::ordered_json("none");
  };
  return key;
}

}  // namespace

std::vector<JobKey> ExpertKeys() {
  std::vector<JobKey> keys;
  for (const auto add : {AddCounts, AddWidths, AddRouter, AddGrug}) add(&keys);
  return keys;
}

std::vector<JobKey> MoeKeys() {
  return {
      Of(ExpertTypes(), "",
         EnumKey("moe.dispatch", {"ring", "all_to_all"}, TRIREME_FIELD(moe.dispatch),
                 "How tokens reach the ranks of their experts. ring: gathered around the expert "
                 "axis, sums scattered back. all_to_all: each token only where it is wanted.")),
      Of(ExpertTypes(), "", CapacityFactorKey()),
      Of(ExpertTypes(), "",
         IntKey("moe.balance_group_sequences", {1, 16777216},
                TRIREME_FIELD(moe.balance_group_sequences),
                "Sequences whose routing is judged together; divides train.global_batch_size and "
                "the sequences that a rank works on at once.")),
  };
}

}  // namespace trireme
