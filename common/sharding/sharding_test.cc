// Checks the shapes, starts and errors of shardings, and their text.
#include "common/sharding/sharding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/check.h"

namespace trireme {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr int kData = 0, kExpert = 1, kModel = 2, kDcn = 3;

Mesh TestMesh() {
  auto mesh = Mesh::Create({{"data", 2}, {"expert", 2}, {"model", 3}, {"pod", 2, Fabric::kDcn}});
  CHECK_OK(mesh.status());
  return *mesh;
}

std::vector<Dim> TestDims() { return {{"batch", 8}, {"position", 5}, {"embed", 10, 12}}; }

TEST(Sharding, ToTextGolden) {
  const Sharding sharding = {{{kData, kExpert}, {}, {kModel}}, {}};
  EXPECT_EQ(ToText(TestMesh(), TestDims(), sharding),
            "[batch/(data,expert), position, embed/model]");
  const Sharding partial = {
      {{}, {}, {kModel}},
      {{kMicrobatchAxis, ReduceKind::kSum}, {kData, ReduceKind::kSum}, {kDcn, ReduceKind::kMax}}};
  EXPECT_EQ(ToText(TestMesh(), TestDims(), partial),
            "[batch, position, embed/model] +SUM(data, microbatch) +MAX(pod)");
  EXPECT_EQ(ToText(TestMesh(), {}, Replicated(0)), "[]");
}

TEST(Sharding, LocalSizesUsePaddedSizes) {
  const Sharding sharding = {{{kData, kExpert}, {}, {kModel}}, {}};
  EXPECT_EQ(NumShards(TestMesh(), sharding, 0), 4);
  EXPECT_THAT(LocalSizes(TestMesh(), TestDims(), sharding), ElementsAre(2, 5, 4));
}

TEST(Sharding, LocalStartCountsMajorAxisFirst) {
  const Mesh mesh = TestMesh();
  const int64_t rank = mesh.RankOf({1, 0, 2, 1});
  EXPECT_THAT(LocalStart(mesh, TestDims(), {{{kData, kExpert}, {}, {kModel}}, {}}, rank),
              ElementsAre(4, 0, 8));
  EXPECT_THAT(LocalStart(mesh, TestDims(), {{{kExpert, kData}, {}, {kModel}}, {}}, rank),
              ElementsAre(2, 0, 8));
}

// Every element is held by exactly as many ranks as the replicated axes multiply to.
TEST(Sharding, ShardsCoverEveryElementOnce) {
  const Mesh mesh = TestMesh();
  const std::vector<Dim> dims = {{"batch", 12}};
  const Sharding sharding = {{{kDcn, kModel}}, {}};
  std::vector<int> holders(12, 0);
  for (int64_t rank = 0; rank < mesh.num_ranks(); ++rank) {
    const int64_t start = LocalStart(mesh, dims, sharding, rank)[0];
    for (int64_t i = 0; i < LocalSizes(mesh, dims, sharding)[0]; ++i) ++holders[start + i];
  }
  EXPECT_THAT(holders, testing::Each(4));
  EXPECT_THAT(ReplicatedAxes(mesh, sharding), ElementsAre(kData, kExpert));
}

TEST(Sharding, ReplicatedAxesLeaveOutPartialAndTrivialAxes) {
  auto mesh = Mesh::Create({{"data", 2}, {"replica", 1}, {"model", 2}});
  ASSERT_TRUE(mesh.ok());
  Sharding sharding = Replicated(1);
  EXPECT_THAT(ReplicatedAxes(*mesh, sharding), ElementsAre(0, 2));
  sharding.partial = {{kMicrobatchAxis, ReduceKind::kSum}, {2, ReduceKind::kSum}};
  EXPECT_THAT(ReplicatedAxes(*mesh, sharding), ElementsAre(0));
}

std::string Error(const Sharding& sharding) {
  const Status status = Validate(TestMesh(), TestDims(), sharding, "mlp.w1");
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  return std::string(ToStd(status.message()));
}

TEST(Validate, NamesTensorDimSizesAndWhatDivides) {
  EXPECT_TRUE(Validate(TestMesh(), TestDims(), {{{kData, kExpert}, {}, {kModel}}, {}}, "x").ok());
  EXPECT_EQ(Error({{{kData, kModel}, {}, {}}, {}}),
            "mlp.w1: dim batch of size 8 does not split evenly over 6 shards of mesh axes (data, "
            "model); try 1, 2 or 4 shards");
}

TEST(Validate, NamesBothDimsThatWantOneAxis) {
  EXPECT_EQ(Error({{{kData}, {}, {kData}}, {}}),
            "mlp.w1: dims batch and embed both want mesh axis 'data'; map one of them to another "
            "axis or to null");
}

TEST(Validate, RejectsMalformedShardings) {
  EXPECT_THAT(Error({{{kData}}, {}}), HasSubstr("3 dims but its sharding has 1"));
  EXPECT_THAT(Error({{{7}, {}, {}}, {}}), HasSubstr("axis id 7"));
  EXPECT_THAT(Error({{{kMicrobatchAxis}, {}, {}}, {}}), HasSubstr("axis id -1"));
  EXPECT_THAT(Error({{{kData}, {}, {}}, {{kData, ReduceKind::kSum}}}), HasSubstr("still partial"));
  EXPECT_THAT(Error({{{}, {}, {}}, {{kModel, ReduceKind::kSum}, {kData, ReduceKind::kSum}}}),
              HasSubstr("sorted"));
}

}  // namespace
}  // namespace trireme
