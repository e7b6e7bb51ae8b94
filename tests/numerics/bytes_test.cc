// Bytes of whole plans against closed forms: tensor parallelism (Megatron's four sums a layer, the
// same bytes as gathers and scatters), rings of keys, edges between stages, hierarchical gradients.
#include <gtest/gtest.h>

#include <numeric>

#include "coordinator/planner/planner.h"
#include "tests/numerics/layout_cases.h"

namespace trireme {
namespace {

constexpr int64_t kBatch = 8, kSequence = 8, kHidden = 16, kLayers = 3, kFloat = 4;
constexpr int64_t kMicrobatch = 2;
constexpr int64_t kResidual = kBatch * kSequence * kHidden * kFloat;  // of all microbatches

Plan MakePlan(const std::string& overrides, int64_t devices, int64_t slices = 1,
              const std::string& model = "llama") {
  const LayoutCase layout = {"bytes", "data.sequence_length=8; " + overrides, model, devices,
                             slices};
  const StatusOr<JobSpec> job = LayoutJob(layout);
  EXPECT_TRUE(job.ok()) << job.status();
  StatusOr<Plan> plan = PlanJob(*job, *LayoutTopology(layout));
  EXPECT_TRUE(plan.ok()) << plan.status();
  return *std::move(plan);
}

// Bytes a step of the collectives whose op and reason contain these.
int64_t Sum(const Plan& plan, const std::string& op, const std::string& reason = "",
            const std::string& tensor = "") {
  int64_t bytes = 0;
  for (const CollectivePlan& one : plan.collectives) {
    if (one.op.find(op) == std::string::npos || one.reason.find(reason) == std::string::npos ||
        one.tensor.find(tensor) == std::string::npos) {
      continue;
    }
    bytes += one.bytes_per_step;
  }
  return bytes;
}

// Bytes of the residual stream's sums and gathers inside blocks: what reasons of tensor parallelism
// name, less embedding and head.
int64_t BlockBytes(const Plan& plan, const std::string& op) {
  int64_t bytes = 0;
  for (const char* const tensor :
       {"projected", "mlp_out", "d_h_mlp", "d_h", "d_x_out", "d_x_mid"}) {
    for (const CollectivePlan& one : plan.collectives) {
      if (one.tensor == tensor && one.op == op) bytes += one.bytes_per_step;
    }
  }
  return bytes;
}

TEST(PlanBytes, TensorParallelSumsFourTimesALayer) {
  for (const int64_t t : {2, 4}) {
    const Plan plan = MakePlan("mesh.axes={model: " + std::to_string(t) + "}", t);
    EXPECT_EQ(BlockBytes(plan, "all_reduce"), 4 * kLayers * 2 * (t - 1) * kResidual / t);
  }
}

// All-gather and reduce-scatter in place of each sum: the same bytes. Gathering the products'
// inputs again in the backward adds two gathers a layer; keeping them does not.
TEST(PlanBytes, SequenceParallelSendsTheSame) {
  const int64_t t = 2;
  const int64_t one = (t - 1) * kResidual / t;
  for (const bool async : {false, true}) {
    for (const bool again : {false, true}) {
      const Plan plan = MakePlan(
          std::string("mesh.axes={model: 2}; tensor_parallel={mode: reduce_scatter, async: ") +
              (async ? "true" : "false") + ", recompute_allgather: " + (again ? "true" : "false") +
              "}",
          t);
      int64_t bytes = 0;
      for (const CollectivePlan& c : plan.collectives) {
        const bool moves = c.op == "permute" || c.op == "all_gather" || c.op == "reduce_scatter";
        const bool edge = c.tensor == "d_x" || c.tensor == "embedded" || c.tensor == "d.head_in";
        const bool head = c.tensor == "normed" && c.op == "all_gather" && async;
        if (moves && !edge && !head && c.reason.find("position") != std::string::npos) {
          bytes += c.bytes_per_step;
        }
      }
      // The head gathers `normed` once in the forward, and again in the backward where asked; where
      // gathers feed products as rings only those of the head are still gathers.
      const int64_t of_head = async ? 0 : (again ? 2 : 1) * one;
      EXPECT_EQ(bytes - of_head, kLayers * (again ? 10 : 8) * one)
          << "async " << async << " again " << again;
    }
  }
}

TEST(PlanBytes, RingOfKeysSendsThemOnceAndTheirGradientsOnceMore) {
  for (const int64_t c : {2, 4}) {
    const std::string axes = "mesh.axes={data: 1, context: " + std::to_string(c) + "}";
    const Plan plan = MakePlan(axes, c);
    const int64_t keys = kBatch * kSequence / c * 2 * 4 * kFloat;  // kv heads, head_dim
    EXPECT_EQ(Sum(plan, "permute"), kLayers * (c - 1) * 2 * keys * 3)
        << "k and v forward; k, v, dk and dv backward";
  }
}

// Tokens around the expert axis, forward and backward; what experts add and gradients of tokens
// back; ids and weights of the choices once, and gradients of the weights back.
TEST(PlanBytes, RingOfExpertsGathersTokensAndScattersSums) {
  for (const int64_t n : {2, 4}) {
    const Plan plan =
        MakePlan("mesh.axes={data: 1, expert: " + std::to_string(n) + "}", n, 1, "mixtral");
    const int64_t choices = kBatch * kSequence * 2 * kFloat;
    EXPECT_EQ(Sum(plan, "all_gather", "batch is needed whole"),
              kLayers * (n - 1) * (2 * kResidual + 2 * choices) / n);
    // Router weights' gradients and the like are reduced, not scattered.
    EXPECT_EQ(Sum(plan, "reduce_scatter", "expert_shard is summed"),
              kLayers * (n - 1) * (2 * kResidual + choices) / n);
    EXPECT_EQ(Sum(plan, "all_to_all"), 0);
  }
}

// Pools of rows there and back, forward and backward, 5/4 of the even share each; and how many rows
// of which expert are in them.
TEST(PlanBytes, AllToAllSendsPools) {
  for (const int64_t n : {2, 4}) {
    const Plan plan =
        MakePlan("moe.dispatch=all_to_all; mesh.axes={data: 1, expert: " + std::to_string(n) + "}",
                 n, 1, "mixtral");
    const int64_t microbatches = kBatch / n / kMicrobatch;
    const int64_t pool = kMicrobatch * kSequence * 2 * 5 / 4 / n;
    const int64_t rows = (n - 1) * pool * kHidden * kFloat;
    const int64_t counts = (n - 1) * 2 * 4 * kFloat / n;  // 2 waves, 4 experts
    EXPECT_EQ(Sum(plan, "all_to_all"), kLayers * microbatches * (4 * rows + counts));
    EXPECT_EQ(Sum(plan, "all_gather", "batch is needed whole"), 0);
  }
}

TEST(PlanBytes, EdgesCarryTheResidualStream) {
  const Plan plan = MakePlan("mesh.axes={data: 1, stage: 2}", 2);
  EXPECT_EQ(Sum(plan, "send", "", "gradient"), kResidual);
  EXPECT_EQ(Sum(plan, "send"), 2 * kResidual);
}

// 2 (R - 1) / R of the gradient's bytes over the shards inside a slice.
TEST(PlanBytes, SlicesExchangeShardsOfGradients) {
  struct Case {
    std::string overrides;
    int64_t inside;
    bool flat;
  };
  for (const int64_t slices : {2, 4}) {
    for (const Case& layout :
         {Case{"mesh.axes={replica: 2, data: 1}; zero.stage=0", 2, false},
          Case{"mesh.axes={data: 4}", 4, false}, Case{"mesh.axes={replica: 2, data: 2}", 4, false},
          Case{"mesh.axes={replica: 2, data: 1}; zero.stage=0; mesh.dcn_reduce=flat", 2, true}}) {
      const Plan plan = MakePlan("train.global_batch_size=16; " + layout.overrides,
                                 slices * layout.inside, slices);
      int64_t gradients = 0;
      for (const ParameterPlan& parameter : plan.parameters) {
        gradients += std::accumulate(parameter.shape.begin(), parameter.shape.end(), kFloat,
                                     std::multiplies<>());
      }
      int64_t dcn = 0;
      for (const CollectivePlan& one : plan.collectives) {
        if (one.fabric == Fabric::kDcn && one.tensor != "reduce") dcn += one.bytes_per_step;
      }
      const int64_t n = slices * layout.inside;
      EXPECT_EQ(dcn, layout.flat ? 2 * (n - 1) * gradients / n
                                 : 2 * (slices - 1) * gradients / layout.inside / slices)
          << layout.overrides << " on " << slices << " slices";
    }
  }
}

}  // namespace
}  // namespace trireme
