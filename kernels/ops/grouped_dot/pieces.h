// The rows of one expert, wherever its parts lie in the pool, cut into pieces of similar work for
// threads. Rows that are not consecutive are copied together for a product and back.
#ifndef TRIREME_KERNELS_OPS_GROUPED_DOT_PIECES_H_
#define TRIREME_KERNELS_OPS_GROUPED_DOT_PIECES_H_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "kernels/ops/dispatch_plan/pools.h"

namespace trireme {

// Rows of one expert in order; expert -1: slots without a row.
struct Piece {
  int64_t expert = 0;
  int64_t rows = 0;
  std::vector<RowGroup> parts;
};

// Cuts `groups`, in which those of an expert follow each other, into pieces of one expert of at
// most `max_rows` rows.
inline std::vector<Piece> CutPieces(const std::vector<RowGroup>& groups, int64_t max_rows) {
  std::vector<Piece> pieces;
  for (const RowGroup& group : groups) {
    for (int64_t done = 0; done < group.rows;) {
      if (pieces.empty() || pieces.back().expert != group.expert ||
          pieces.back().rows == max_rows) {
        pieces.push_back({.expert = group.expert});
      }
      Piece& piece = pieces.back();
      const int64_t rows = std::min(max_rows - piece.rows, group.rows - done);
      piece.parts.push_back({group.expert, group.start + done, rows});
      piece.rows += rows;
      done += rows;
    }
  }
  return pieces;
}

// Copies a piece's rows of `columns` elements from the pool to dense memory, or back.
inline void GatherPiece(const Piece& piece, const float* pool, int64_t columns, float* dense) {
  for (const RowGroup& part : piece.parts) {
    std::memcpy(dense, pool + part.start * columns, part.rows * columns * sizeof(float));
    dense += part.rows * columns;
  }
}
inline void ScatterPiece(const Piece& piece, const float* dense, int64_t columns, float* pool) {
  for (const RowGroup& part : piece.parts) {
    std::memcpy(pool + part.start * columns, dense, part.rows * columns * sizeof(float));
    dense += part.rows * columns;
  }
}

}  // namespace trireme

#endif  // TRIREME_KERNELS_OPS_GROUPED_DOT_PIECES_H_
