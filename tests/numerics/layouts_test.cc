// Every layout trains the one-rank model: initial weights bit-equal, losses to 1e-5 over ten steps,
// gradients of the first step to 1e-4 of each tensor's norm. Runs in the lockstep interpreter on
// the reference kernels.
#include <gtest/gtest.h>

#include <cmath>

#include "common/base/math.h"
#include "coordinator/planner/planner.h"
#include "kernels/ops/router_stats/layout.h"
#include "tests/numerics/layout_cases.h"
#include "tests/support/lockstep.h"

namespace trireme {
namespace {

constexpr int kSteps = 10;

SequenceData Sequence(int64_t step, int64_t sequence) {
  SequenceData data;
  uint64_t state = Mix64(static_cast<uint64_t>(step * 1000 + sequence));
  for (int p = 0; p < 7; ++p) {
    data.tokens.push_back(static_cast<int32_t>(state % 257));
    state = Mix64(state);
    data.targets.push_back(static_cast<int32_t>(state % 257));
    // Unequal weights: an average of averages would show.
    data.weights.push_back(p == 3 && sequence % 2 == 0 ? 0.0f : 1.0f);
  }
  return data;
}

struct Training {
  std::map<std::string, std::vector<float>> initial, grads;
  std::vector<double> losses, grad_norms;
  std::vector<std::vector<double>> router_stats;  // by step
};

StatusOr<Training> Train(const JobSpec& job, const Topology& topology) {
  ASSIGN_OR_RETURN(const Plan plan, PlanJob(job, topology));
  ASSIGN_OR_RETURN(const auto lockstep, Lockstep::Create(plan, Sequence));
  RETURN_IF_ERROR(lockstep->Init());
  Training training;
  for (const std::string& name : lockstep->TensorNames()) {
    ASSIGN_OR_RETURN(training.initial[name], lockstep->Tensor(name, Lockstep::What::kParam));
  }
  for (int step = 0; step < kSteps; ++step) {
    ASSIGN_OR_RETURN(const LockstepResult result, lockstep->RunStep(step));
    training.losses.push_back(result.loss);
    training.grad_norms.push_back(result.grad_norm);
    training.router_stats.push_back(result.router_stats);
    for (const std::string& name : lockstep->TensorNames()) {
      if (step == 0) {
        ASSIGN_OR_RETURN(training.grads[name], lockstep->Tensor(name, Lockstep::What::kGrad));
      }
    }
  }
  for (const std::string& name : lockstep->TensorNames()) {
    RETURN_IF_ERROR(lockstep->Tensor(name, Lockstep::What::kParam).status());
  }
  return training;
}

// One rank's training of each model, once.
const Training& OneRank(const LayoutCase& layout) {
  static auto* const cache = new std::map<std::string, Training>;
  const auto it = cache->find(layout.model);
  if (it != cache->end()) return it->second;
  const StatusOr<JobSpec> job = OneRankJob(layout);
  EXPECT_TRUE(job.ok()) << job.status();
  LayoutCase one = layout;
  one.devices = one.slices = 1;
  StatusOr<Training> training = Train(*job, *LayoutTopology(one));
  EXPECT_TRUE(training.ok()) << training.status();
  return (*cache)[layout.model] = training.ok() ? *std::move(training) : Training{};
}

double Norm(const std::vector<float>& a) {
  double sum = 0;
  for (const float x : a) sum += static_cast<double>(x) * x;
  return std::sqrt(sum);
}

// |a - b| over the whole tensor, relative to |b|. Some gradients are 0 in exact arithmetic (a key
// bias moves all scores of a query alike) and only rounding in floats: a tensor's norm counts as at
// least 1e-3 of the whole gradient's.
double RelativeDifference(const std::vector<float>& a, const std::vector<float>& b,
                          double grad_norm) {
  double difference = 0;
  for (size_t i = 0; i < a.size(); ++i)
    difference += (a[i] - b[i]) * static_cast<double>(a[i] - b[i]);
  return std::sqrt(difference) / std::max(Norm(b), 1e-3 * grad_norm);
}

// What routers saw is the same on every layout: loads exactly, sums of floats nearly. How many
// waves it took is not, nor how many positions were padded so that they split.
void ExpectSameRouting(const std::vector<double>& a, const std::vector<double>& b,
                       int64_t num_experts, int step) {
  ASSERT_EQ(a.size(), b.size());
  const int64_t size = RouterStatSize(num_experts);
  for (size_t i = 0; i < a.size(); ++i) {
    const int64_t at = static_cast<int64_t>(i) % size;
    const std::string where = "step " + std::to_string(step) + ", router sum " + std::to_string(at);
    if (at == kRouterExtraWaves || at == kRouterPadding) continue;
    if (at == kRouterSenderDrops || at == kRouterReceiverDrops) {
      EXPECT_EQ(a[i], 0) << where;
    } else if (at >= kRouterLoads && at < RouterBetas(num_experts)) {
      EXPECT_EQ(a[i], b[i]) << where;
    } else {
      EXPECT_NEAR(a[i], b[i], 1e-4 * (1 + std::abs(b[i]))) << where;
    }
  }
}

class Layouts : public testing::TestWithParam<LayoutCase> {};

TEST_P(Layouts, EqualOneRank) {
  const StatusOr<JobSpec> job = LayoutJob(GetParam());
  ASSERT_TRUE(job.ok()) << job.status();
  const StatusOr<Topology> topology = LayoutTopology(GetParam());
  ASSERT_TRUE(topology.ok()) << topology.status();
  const StatusOr<Training> training = Train(*job, *topology);
  ASSERT_TRUE(training.ok()) << training.status();
  const Training& one = OneRank(GetParam());
  ASSERT_EQ(training->initial.size(), one.initial.size());
  for (const auto& [name, values] : one.initial) {
    EXPECT_EQ(training->initial.at(name), values) << name << " starts elsewhere";
    EXPECT_LT(RelativeDifference(training->grads.at(name), one.grads.at(name), one.grad_norms[0]),
              1e-4)
        << "gradient of " << name;
  }
  for (int step = 0; step < kSteps; ++step) {
    EXPECT_NEAR(training->losses[step], one.losses[step], 1e-5 * one.losses[step])
        << "step " << step;
    EXPECT_NEAR(training->grad_norms[step], one.grad_norms[step], 1e-4 * one.grad_norms[step])
        << "step " << step;
    ExpectSameRouting(training->router_stats[step], one.router_stats[step],
                      job->model.experts.num_experts, step);
  }
  EXPECT_LT(one.losses[kSteps - 1], one.losses[0] * 1.2);
}

// What is split by rows is the same arithmetic in blocks, and sums go around the ring in the order
// of a reduce_scatter: the forward is bit-equal, and with it the gradients of the head. Further
// back sums of several products are added up as they come, without rounding each first.
TEST(AsyncTensorParallel, EqualsSynchronousBitForBit) {
  for (const int64_t n : {2, 4}) {
    for (const char* const chunks : {"1", "2"}) {
      std::vector<Training> trainings;
      for (const char* const async : {"false", "true"}) {
        const LayoutCase layout = {"async",
                                   "mesh.axes={model: " + std::to_string(n) +
                                       "}; tensor_parallel={mode: reduce_scatter, async: " + async +
                                       ", chunks: " + chunks + "}",
                                   "llama", n};
        const StatusOr<JobSpec> job = LayoutJob(layout);
        ASSERT_TRUE(job.ok()) << job.status();
        StatusOr<Training> training = Train(*job, *LayoutTopology(layout));
        ASSERT_TRUE(training.ok()) << training.status();
        trainings.push_back(*std::move(training));
      }
      const Training& sync = trainings[0];
      const Training& async = trainings[1];
      EXPECT_EQ(sync.losses[0], async.losses[0]) << n << " ranks";
      for (const auto& [name, grad] : sync.grads) {
        EXPECT_LT(RelativeDifference(async.grads.at(name), grad, sync.grad_norms[0]), 1e-5) << name;
      }
      for (const char* const name : {"lm_head.weight", "model.norm.weight"}) {
        EXPECT_EQ(sync.grads.at(name), async.grads.at(name)) << name << " on " << n << " ranks";
      }
    }
  }
}

// The layouts above would equal one rank without waves beyond the first if none ever ran.
TEST(ExpertWaves, RunWhereRoutersAreUneven) {
  for (const char* const dispatch : {"ring", "all_to_all"}) {
    const LayoutCase layout = {
        "waves", std::string("mesh.axes={data: 1, expert: 4}; moe.dispatch=") + dispatch, "mixtral",
        4};
    const StatusOr<JobSpec> job = LayoutJob(layout);
    ASSERT_TRUE(job.ok()) << job.status();
    const StatusOr<Training> training = Train(*job, *LayoutTopology(layout));
    ASSERT_TRUE(training.ok()) << training.status();
    double extra_waves = 0;
    for (const std::vector<double>& stats : training->router_stats) {
      for (size_t i = kRouterExtraWaves; i < stats.size(); i += RouterStatSize(4)) {
        extra_waves += stats[i];
      }
    }
    EXPECT_GT(extra_waves, 5) << dispatch;
  }
}

// Compressed gradients are not equal but near, and the error that rounding leaves does not pile up.
TEST(CompressedLayouts, TrainNearOneRank) {
  for (const char* const format : {"bf16", "int8"}) {
    for (const char* const micro : {"2", "4"}) {
      const LayoutCase layout = {"compressed",
                                 std::string("mesh.axes={replica: 2, data: 1}; zero.stage=0; "
                                             "compression.dcn=") +
                                     format + "; train.microbatch_size=" + micro,
                                 "llama", 4, 2};
      const StatusOr<JobSpec> job = LayoutJob(layout);
      ASSERT_TRUE(job.ok()) << job.status();
      const StatusOr<Training> training = Train(*job, *LayoutTopology(layout));
      ASSERT_TRUE(training.ok()) << training.status();
      const Training& one = OneRank(layout);
      EXPECT_NE(training->losses.back(), one.losses.back()) << "nothing was rounded";
      for (int step = 0; step < kSteps; ++step) {
        EXPECT_NEAR(training->losses[step], one.losses[step], 5e-3 * one.losses[step])
            << format << " step " << step;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Base, Layouts, testing::ValuesIn(LayoutCases()),
                         [](const auto& info) { return info.param.name; });
INSTANTIATE_TEST_SUITE_P(Experts, Layouts, testing::ValuesIn(ExpertCases()),
                         [](const auto& info) { return info.param.name; });
INSTANTIATE_TEST_SUITE_P(Random, Layouts, testing::ValuesIn(RandomCases(40)),
                         [](const auto& info) { return info.param.name; });
INSTANTIATE_TEST_SUITE_P(RandomExperts, Layouts, testing::ValuesIn(RandomExpertCases(16)),
                         [](const auto& info) { return info.param.name; });
INSTANTIATE_TEST_SUITE_P(Parallel, Layouts, testing::ValuesIn(ParallelCases()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace trireme
