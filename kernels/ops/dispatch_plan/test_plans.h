// Plans for tests of the ops that work on pools.
#ifndef TRIREME_KERNELS_OPS_DISPATCH_PLAN_TEST_PLANS_H_
#define TRIREME_KERNELS_OPS_DISPATCH_PLAN_TEST_PLANS_H_

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "kernels/testing/op_case.h"

namespace trireme {

struct PlanSizes {
  int64_t num_experts = 1;
  int64_t capacity = 1;
  int64_t waves = 1;
  int64_t expert_shards = 1;
  int64_t token_shards = 1;
  int64_t thin = 0;
};

inline Attrs PlanAttrs(const PlanSizes& sizes) {
  return {{"num_experts", sizes.num_experts},
          {"expert_shards", sizes.expert_shards},
          {"token_shards", sizes.token_shards},
          {"capacity", sizes.capacity},
          {"waves", sizes.waves},
          {"thin", sizes.thin},
          {"shard_dim", std::string("expert_shard")},
          {"expert_dim", std::string("expert")}};
}

// ids is given as [batch,position,choice].
inline OpCase PlanCase(const PlanSizes& sizes, OpInput ids) {
  return {.op = "dispatch_plan", .attrs = PlanAttrs(sizes), .inputs = {std::move(ids)}};
}

// `batch` rows of one position and one choice.
inline OpInput OneChoice(const std::vector<double>& ids) {
  const int64_t batch = static_cast<int64_t>(ids.size());
  return Given({{"batch", batch}, {"position", 1}, {"choice", 1}}, DType::kInt32, ids);
}

// k different experts for each token, drawn with falling chances so that loads differ; about one
// token in eight is padding (-1).
inline OpInput RandomIds(int64_t batch, int64_t position, int64_t choices, int64_t num_experts,
                         uint64_t seed) {
  TestRandom random(seed);
  std::vector<double> ids;
  for (int64_t token = 0; token < batch * position; ++token) {
    std::vector<double> chosen;
    const bool padding = random.Below(8) == 0;
    while (static_cast<int64_t>(chosen.size()) < choices) {
      const int64_t bound = 1 + static_cast<int64_t>(random.Below(num_experts));
      const double id = padding ? -1 : static_cast<double>(random.Below(bound));
      if (padding || std::count(chosen.begin(), chosen.end(), id) == 0) chosen.push_back(id);
    }
    ids.insert(ids.end(), chosen.begin(), chosen.end());
  }
  return Given({{"batch", batch}, {"position", position}, {"choice", choices}}, DType::kInt32, ids);
}

// source and counts of a plan, as inputs of other ops.
struct Plan {
  PlanSizes sizes;
  OpInput ids;
  OpInput source;
  OpInput counts;

  int64_t slots() const { return sizes.capacity * sizes.token_shards; }
  // Dims of rows in the pool.
  std::vector<Dim> RowDims(const Dim& last) const {
    return {{"expert_shard", sizes.expert_shards}, {"slot", slots()}, last};
  }
  // Dims of tokens.
  std::vector<Dim> TokenDims(const Dim& last) const { return {ids.dims[0], ids.dims[1], last}; }
};

inline Plan MakePlan(const PlanSizes& sizes, const OpInput& ids) {
  const OpCase c = PlanCase(sizes, ids);
  const std::vector<HostTensor> outputs = RunOp(c, MakeInputs(c));
  const int64_t slots = sizes.capacity * sizes.token_shards;
  return {.sizes = sizes,
          .ids = ids,
          .source =
              Given({{"wave", sizes.waves}, {"expert_shard", sizes.expert_shards}, {"slot", slots}},
                    DType::kInt32, outputs[0].Values()),
          .counts = Given({{"wave", sizes.waves},
                           {"token_shard", sizes.token_shards},
                           {"expert", sizes.num_experts}},
                          DType::kInt32, outputs[1].Values())};
}

// Plans that cover what can differ: a part of the pool left empty, several waves, several shards of
// experts and of tokens, one expert that has everything, experts without rows.
inline std::vector<Plan> OddPlans() {
  const OpInput everything_to_one = OneChoice({1, 1, 1, 1, 1, 1});
  return {
      MakePlan({.num_experts = 5, .capacity = 40}, RandomIds(4, 3, 3, 5, 1)),
      MakePlan({.num_experts = 6, .capacity = 7, .waves = 5, .expert_shards = 2},
               RandomIds(3, 5, 2, 6, 2)),
      MakePlan({.num_experts = 6, .capacity = 9, .waves = 3, .expert_shards = 3, .token_shards = 2},
               RandomIds(4, 5, 3, 6, 3)),
      MakePlan({.num_experts = 3, .capacity = 4, .waves = 2}, everything_to_one),
      MakePlan({.num_experts = 1, .capacity = 1}, OneChoice({0}))};
}

}  // namespace trireme

#endif  // TRIREME_KERNELS_OPS_DISPATCH_PLAN_TEST_PLANS_H_
