// Which sums wait for the end of a step, under every policy.
#include "coordinator/compiler/partition/accumulator_sharding.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace trireme {
namespace {

// A weight [embed, mlp] whose gradient is partial over data (ICI) and replica_dcn (DCN); the
// optimizer splits embed.
class Accumulator : public testing::Test {
 protected:
  std::string Of(ReducePolicy ici, ReducePolicy dcn, int64_t microbatches) {
    PartitionOptions options;
    options.reduce_ici = ici;
    options.reduce_dcn = dcn;
    options.num_microbatches = microbatches;
    return Text(options);
  }
  std::string Text(const PartitionOptions& options) {
    const std::vector<Dim> dims = {{"embed", 8}, {"mlp", 12}};
    return ToText(mesh_, dims, AccumulatorSharding(mesh_, dims, natural_, optimizer_, options));
  }
  const Mesh mesh_ = *Mesh::Create({{"data", 2}, {"model", 2}, {"replica_dcn", 2, Fabric::kDcn}});
  const Sharding natural_ = {.dim_axes = {{}, {1}},
                             .partial = {{0, ReduceKind::kSum}, {2, ReduceKind::kSum}}};
  Sharding optimizer_ = {.dim_axes = {{0}, {1}}, .partial = {}};
};

constexpr auto kMicrobatch = ReducePolicy::kMicrobatch;
constexpr auto kStep = ReducePolicy::kStep;

TEST_F(Accumulator, EveryMicrobatch) {
  EXPECT_EQ(Of(kMicrobatch, kMicrobatch, 4), "[embed/data, mlp/model]");
}
// The default: scattered on ICI at once, what is left crosses DCN once a step.
TEST_F(Accumulator, DcnOnceAStep) {
  EXPECT_EQ(Of(kMicrobatch, kStep, 4), "[embed/data, mlp/model] +SUM(replica_dcn)");
}
// Replicas inside a slice keep a shard each until the slices have met.
TEST_F(Accumulator, ReplicasKeepShardsForDcn) {
  optimizer_.dim_axes = {{}, {1}};
  EXPECT_EQ(Of(kMicrobatch, kStep, 4), "[embed/data, mlp/model] +SUM(replica_dcn)");
  EXPECT_EQ(Of(kMicrobatch, kStep, 1), "[embed, mlp/model]") << "resolved at once";
  PartitionOptions flat;
  flat.num_microbatches = 4;
  flat.flat_dcn = true;
  EXPECT_EQ(Text(flat), "[embed, mlp/model] +SUM(data, replica_dcn)");
}
// An axis that is still summed cannot split: the accumulator is as large as the backward's
// gradient.
TEST_F(Accumulator, BothOnceAStep) {
  EXPECT_EQ(Of(kStep, kStep, 4), "[embed, mlp/model] +SUM(data, replica_dcn)");
}
TEST_F(Accumulator, IciOnceAStep) {
  EXPECT_EQ(Of(kStep, kMicrobatch, 4), "[embed, mlp/model] +SUM(data)");
}
TEST_F(Accumulator, OneMicrobatchHasNothingToDefer) {
  EXPECT_EQ(Of(kStep, kStep, 1), "[embed/data, mlp/model]");
}

}  // namespace
}  // namespace trireme
