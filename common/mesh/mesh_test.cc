// Checks the numbering of ranks: placement order, strides, coordinates and groups.
#include "common/mesh/mesh.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/check.h"

namespace trireme {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Mesh MakeOrDie(std::vector<MeshAxis> axes) {
  auto mesh = Mesh::Create(std::move(axes));
  CHECK(mesh.ok()) << mesh.status();
  return *std::move(mesh);
}

std::vector<std::string> PlacementNames(const Mesh& mesh) {
  std::vector<std::string> names;
  for (int axis : mesh.placement_order()) names.push_back(mesh.axis(axis).name);
  return names;
}

TEST(Mesh, EmptyMeshHasOneRank) {
  const Mesh mesh;
  EXPECT_EQ(mesh.num_ranks(), 1);
  EXPECT_TRUE(mesh.Coordinates(0).empty());
  EXPECT_THAT(mesh.GroupMembers(0, {}), ElementsAre(0));
  EXPECT_EQ(mesh.ToText(), "{}");
}

TEST(Mesh, PlacementOrderIsFixedWhateverTheDeclaration) {
  const Mesh mesh = MakeOrDie({{"model", 2},
                               {"zeta", 2},
                               {"expert", 2},
                               {"alpha", 2},
                               {"context", 2},
                               {"data", 2},
                               {"replica", 2},
                               {"stage", 2},
                               {"replica_dcn", 2, Fabric::kDcn},
                               {"pod", 2, Fabric::kDcn}});
  EXPECT_THAT(PlacementNames(mesh), ElementsAre("replica_dcn", "pod", "stage", "replica", "data",
                                                "context", "expert", "zeta", "alpha", "model"));
  EXPECT_EQ(mesh.axis(0).name, "model");  // declaration order is kept
  EXPECT_EQ(mesh.RankStride(*mesh.FindAxis("model")), 1);
  EXPECT_EQ(mesh.RankStride(*mesh.FindAxis("replica_dcn")), 512);
}

// Feature F5: the data-parallel rank of (r, p, d) is (r*P + p)*D + d.
TEST(Mesh, DataParallelRanksCountInOrder) {
  const Mesh mesh = MakeOrDie({{"data", 4}, {"replica", 3}, {"replica_dcn", 2, Fabric::kDcn}});
  for (int64_t r = 0; r < 2; ++r) {
    for (int64_t p = 0; p < 3; ++p) {
      for (int64_t d = 0; d < 4; ++d) EXPECT_EQ(mesh.RankOf({d, p, r}), (r * 3 + p) * 4 + d);
    }
  }
}

TEST(Mesh, CoordinatesInvertRankOf) {
  const Mesh mesh = MakeOrDie({{"model", 3}, {"data", 2}, {"one", 1}, {"pod", 2, Fabric::kDcn}});
  for (int64_t rank = 0; rank < mesh.num_ranks(); ++rank) {
    EXPECT_EQ(mesh.RankOf(mesh.Coordinates(rank)), rank);
  }
  EXPECT_THAT(mesh.Coordinates(7), ElementsAre(1, 0, 0, 1));  // 7 = pod 1 * 6 + data 0 * 3 + 1
}

TEST(Mesh, GroupMembersListFirstAxisSlowest) {
  const Mesh mesh = MakeOrDie({{"data", 2}, {"model", 3}, {"pod", 2, Fabric::kDcn}});
  EXPECT_THAT(mesh.GroupMembers(7, {1}), ElementsAre(6, 7, 8));
  EXPECT_THAT(mesh.GroupMembers(7, {2}), ElementsAre(1, 7));
  EXPECT_THAT(mesh.GroupMembers(7, {0, 2}), ElementsAre(1, 7, 4, 10));
  EXPECT_THAT(mesh.GroupMembers(7, {2, 0}), ElementsAre(1, 4, 7, 10));
  EXPECT_EQ(mesh.GroupSize({0, 1}), 6);
}

TEST(Mesh, GroupFabricIsDcnOnlyForAxesThatMove) {
  const Mesh mesh =
      MakeOrDie({{"data", 2}, {"replica_dcn", 1, Fabric::kDcn}, {"pod", 2, Fabric::kDcn}});
  EXPECT_EQ(mesh.GroupFabric({0, 1}), Fabric::kIci);
  EXPECT_EQ(mesh.GroupFabric({0, 2}), Fabric::kDcn);
  EXPECT_EQ(Name(Fabric::kDcn), "dcn");
}

TEST(Mesh, ToTextSeparatesTheFabrics) {
  EXPECT_EQ(MakeOrDie({{"replica_dcn", 2, Fabric::kDcn}, {"data", 2}, {"model", 2}}).ToText(),
            "{data 2, model 2 | replica_dcn 2}");
  EXPECT_EQ(MakeOrDie({{"data", 2}}).ToText(), "{data 2}");
  EXPECT_EQ(MakeOrDie({{"pod", 2, Fabric::kDcn}}).ToText(), "{| pod 2}");
}

TEST(Mesh, RejectsBadAxes) {
  EXPECT_THAT(Mesh::Create({{"", 2}}).status().ToString(), HasSubstr("empty name"));
  EXPECT_THAT(Mesh::Create({{"a", 2}, {"a", 2}}).status().ToString(), HasSubstr("'a'"));
  EXPECT_THAT(Mesh::Create({{"a", 0}}).status().ToString(), HasSubstr("size 0"));
  EXPECT_THAT(Mesh::Create({{"a", -1}}).status().ToString(), HasSubstr("size -1"));
  EXPECT_TRUE(Mesh::Create({{"a", int64_t{1} << 40}}).ok());
  EXPECT_THAT(Mesh::Create({{"a", int64_t{1} << 40}, {"b", 2}}).status().ToString(),
              HasSubstr("2^40"));
}

}  // namespace
}  // namespace trireme
