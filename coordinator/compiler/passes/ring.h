// Writes the parts of a ring algorithm into a local graph: pieces of values, what travels to the
// next rank, values put together from pieces.
#ifndef TRIREME_COORDINATOR_COMPILER_PASSES_RING_H_
#define TRIREME_COORDINATOR_COMPILER_PASSES_RING_H_

#include <cstdint>
#include <string>
#include <vector>

#include "common/ir/graph.h"
#include "common/mesh/mesh.h"

namespace trireme {

// Block `shift` is that of the member (place + shift) mod n; -1 = the one before in the ring, whose
// block arrives first when everybody sends to the next.
class Ring {
 public:
  // Appends to `nodes`; values go into `graph`. Borrows all.
  Ring(Graph& graph, const Mesh& mesh, int axis, int64_t chunks, std::vector<Node>& nodes)
      : graph_(graph), mesh_(mesh), axis_(axis), chunks_(chunks), nodes_(nodes) {}

  int64_t size() const { return mesh_.axis(axis_).size; }
  int64_t chunks() const { return chunks_; }

  // Part `chunk` of block `shift` of `value`, whose dim `dim` holds all blocks: a view.
  int Piece(int value, int dim, int64_t shift, int64_t chunk, Phase phase);
  // Part `chunk` of `value`, whose dim `dim` is one block: a view (the value itself for one chunk).
  int OwnPiece(int value, int dim, int64_t chunk, Phase phase);
  // A new value of the type of a piece of `value`; blocks is n where `dim` holds all of them, else
  // 1.
  int NewPiece(int value, int dim, int64_t blocks);
  // Declares `whole` to be made of `pieces`, which are part `chunks[i]` of block `shifts[i]`
  // (blocks = n) or of the one block (blocks = 1).
  void Join(int whole, int dim, int64_t blocks, const std::vector<int>& pieces,
            const std::vector<int64_t>& shifts, const std::vector<int64_t>& parts, Phase phase);
  // What the member before has in `value`; this rank's goes to the next.
  int Pass(int value, Phase phase, const std::string& reason);
  // A dense copy of a view.
  int Pack(int value, Phase phase);
  // A copy of `node` with other operands, appended.
  void Repeat(Node node, std::vector<int> inputs, std::vector<int> outputs, bool accumulate);

 private:
  Graph& graph_;
  const Mesh& mesh_;
  const int axis_;
  const int64_t chunks_;
  std::vector<Node>& nodes_;
};

}  // namespace trireme

#endif  // TRIREME_COORDINATOR_COMPILER_PASSES_RING_H_
