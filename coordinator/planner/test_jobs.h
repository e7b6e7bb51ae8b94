// Small jobs and fleets for the tests of the planner.
#ifndef TRIREME_COORDINATOR_PLANNER_TEST_JOBS_H_
#define TRIREME_COORDINATOR_PLANNER_TEST_JOBS_H_

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/config/parse.h"
#include "coordinator/planner/planner.h"

namespace trireme {

// Batch 8 in microbatches of 2, sequences of 6, 2 layers, 4 heads over 2 kv heads, byte vocabulary.
inline JobSpec SmallJob(const std::vector<std::string>& overrides = {}) {
  constexpr char kJob[] = R"(
name: small
model: {type: llama, hidden_size: 8, intermediate_size: 12, num_hidden_layers: 2, num_attention_heads: 4, num_key_value_heads: 2, vocab_size: 257, max_position_embeddings: 16}
data: {train: [{path: none.txt}], tokenizer: bytes, sequence_length: 6}
train: {steps: 4, global_batch_size: 8, microbatch_size: 2, seed: 3}
)";
  const StatusOr<JobSpec> job = ParseJob(kJob, "small.yaml", overrides);
  EXPECT_TRUE(job.ok()) << job.status();
  return job.value_or(JobSpec{});
}

// Llama 3.1 405B on 16,384 ranks: stage 16, data 128, model 8.
inline JobSpec Job405B() {
  return SmallJob({"model.hidden_size=16384", "model.intermediate_size=53248",
                   "model.num_hidden_layers=126", "model.num_attention_heads=128",
                   "model.num_key_value_heads=8", "model.vocab_size=128256",
                   "model.max_position_embeddings=8192", "data.sequence_length=8192",
                   "train.global_batch_size=2048", "train.microbatch_size=1", "train.remat=block",
                   "mesh.axes={stage: 16, data: 128, model: 8}",
                   "mesh.compute_mapping.residual/position=model"});
}

inline Topology Devices(int64_t per_slice, const std::string& kind = "cpu", int64_t slices = 1) {
  const StatusOr<DeviceKind> device = FindDeviceKind(kind);
  EXPECT_TRUE(device.ok()) << device.status();
  std::vector<Host> hosts;
  for (int64_t s = 0; s < slices; ++s) hosts.push_back({"host" + std::to_string(s), s, per_slice});
  const StatusOr<Topology> topology = MakeTopology(*device, hosts);
  EXPECT_TRUE(topology.ok()) << topology.status();
  return *topology;
}

inline Plan MustPlan(const JobSpec& job, const Topology& topology) {
  StatusOr<Plan> plan = PlanJob(job, topology);
  EXPECT_TRUE(plan.ok()) << plan.status();
  return plan.ok() ? *std::move(plan) : Plan{};
}

}  // namespace trireme

#endif  // TRIREME_COORDINATOR_PLANNER_TEST_JOBS_H_
