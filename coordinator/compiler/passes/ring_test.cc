// Pieces are views of their value, joined pieces are written in place, passes name the next rank.
#include "coordinator/compiler/passes/ring.h"

#include "coordinator/compiler/passes/aliases.h"
#include "coordinator/compiler/passes/test_graph.h"

namespace trireme {
namespace {

constexpr int kModel = 1;  // of size 4

class RingTest : public testing::Test {
 protected:
  Ring Make(int64_t chunks) { return {g_.graph, g_.mesh, kModel, chunks, nodes_}; }
  std::vector<Alias> Aliases() {
    for (Node& node : nodes_) g_.graph.AddNode(node);
    return FindAliases(g_.graph, g_.mesh);
  }
  TestGraph g_;
  std::vector<Node> nodes_;
};

TEST_F(RingTest, PiecesAreStridedViewsCountedAroundTheRing) {
  const int x = g_.Value({{"batch", 2}, {"position", 16}, {"embed", 3}});
  const int piece = Make(2).Piece(x, 1, -1, 1, Phase::kForward);
  EXPECT_EQ(g_.graph.value(piece).dims[1].size, 2);
  const Alias alias = Aliases()[piece];
  EXPECT_EQ(alias.root, x);
  EXPECT_EQ(alias.strides, (std::vector<int64_t>{48, 3, 1}));
  // Block ((r + 3) mod 4) of 4 positions, its second half.
  for (int64_t r = 0; r < 4; ++r) {
    EXPECT_EQ(alias.offset.Evaluate({0, r}), ((r + 3) % 4 * 4 + 2) * 3);
  }
}

TEST_F(RingTest, OuterPiecesAreDense) {
  const int x = g_.Value({{"position", 16}, {"embed", 3}});
  const int piece = Make(1).Piece(x, 0, 2, 0, Phase::kForward);
  EXPECT_TRUE(Aliases()[piece].strides.empty());
}

TEST_F(RingTest, OwnPieceOfOneChunkIsTheValue) {
  const int x = g_.Value({{"position", 16}, {"embed", 3}}, {{kModel}, {}});
  EXPECT_EQ(Make(1).OwnPiece(x, 0, 0, Phase::kForward), x);
  const int half = Make(2).OwnPiece(x, 0, 1, Phase::kForward);
  EXPECT_EQ(Aliases()[half].offset.Evaluate({0, 3}), 2 * 3);
}

TEST_F(RingTest, JoinedPiecesAreWrittenWhereTheyBelong) {
  const int y = g_.Value({{"position", 8}, {"embed", 3}});
  Ring ring = Make(1);
  std::vector<int> pieces;
  for (int i = 0; i < 4; ++i) pieces.push_back(ring.NewPiece(y, 0, 4));
  ring.Join(y, 0, 4, pieces, {0, -1, -2, -3}, {0, 0, 0, 0}, Phase::kForward);
  const std::vector<Alias> aliases = Aliases();
  for (int s = 0; s < 4; ++s) {
    EXPECT_EQ(aliases[pieces[s]].root, y);
    EXPECT_EQ(aliases[pieces[s]].offset.Evaluate({0, 1}), (1 - s + 4) % 4 * 2 * 3);
  }
}

TEST_F(RingTest, PassGoesToTheNextAndRunsBeside) {
  const int x = g_.Value({{"position", 8}});
  const int received = Make(1).Pass(x, Phase::kBackward, "why");
  ASSERT_EQ(nodes_.size(), 1u);
  EXPECT_EQ(nodes_[0].op, "permute");
  EXPECT_TRUE(nodes_[0].async);
  EXPECT_EQ(nodes_[0].attrs.GetInt("shift"), 1);
  EXPECT_EQ(nodes_[0].outputs[0], received);
  EXPECT_EQ(nodes_[0].phase, Phase::kBackward);
}

}  // namespace
}  // namespace trireme
