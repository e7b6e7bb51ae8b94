// Each thread multiplies pieces of experts' rows. How rows are cut does not change a row's result,
// so it may depend on the number of threads.
#include <algorithm>

#include "kernels/device/cpu_util.h"
#include "kernels/device/parallel.h"
#include "kernels/device/scratch.h"
#include "kernels/device/small_gemm.h"
#include "kernels/ops/grouped_dot/pieces.h"
#include "kernels/ops/kernel.h"

namespace trireme {

void Reference_grouped_dot(const KernelArgs& args);

namespace {

// Each piece reads its expert's matrix once, so small ones cost more.
constexpr int64_t kMinPieceRows = 48;
constexpr int64_t kMaxPieceRows = 192;
constexpr int64_t kPiecesPerThread = 4;

struct Problem {
  const float* rows = nullptr;
  const float* w = nullptr;
  float* out = nullptr;
  int64_t in_size = 0;
  int64_t out_size = 0;
  bool transposed = false;
  bool add = false;
};

// `upcoming`: the expert whose piece this thread will probably take next.
void Multiply(const Problem& problem, const Piece& piece, int64_t upcoming) {
  const int64_t in_size = problem.in_size, out_size = problem.out_size;
  const GemmShape shape = {.m = piece.rows, .n = out_size, .k = in_size};
  const MatrixView w = {problem.w + piece.expert * in_size * out_size,
                        problem.transposed ? in_size : out_size, problem.transposed};
  const float* next = upcoming < 0 ? nullptr : problem.w + upcoming * in_size * out_size;
  if (piece.parts.size() == 1) {
    const int64_t start = piece.parts[0].start;
    SmallGemm(shape, {problem.rows + start * in_size, in_size, false}, w,
              problem.out + start * out_size, out_size, problem.add, next);
    return;
  }
  float* rows = ThreadScratchOf<float>(ScratchSlot::kRows, piece.rows * in_size);
  float* out = ThreadScratchOf<float>(ScratchSlot::kTile, piece.rows * out_size);
  GatherPiece(piece, problem.rows, in_size, rows);
  if (problem.add) GatherPiece(piece, problem.out, out_size, out);
  SmallGemm(shape, {rows, in_size, false}, w, out, out_size, problem.add, next);
  ScatterPiece(piece, out, out_size, problem.out);
}

}  // namespace

void Cpu_grouped_dot(const KernelArgs& args) {
  if (!AreFloat32(args.in, {0, 1})) return Reference_grouped_dot(args);
  const Tensor& rows = args.in[0];
  const Problem problem = {.rows = rows.f32(),
                           .w = args.in[1].f32(),
                           .out = args.out[0].f32(),
                           .in_size = rows.sizes.back(),
                           .out_size = args.out[0].sizes.back(),
                           .transposed = args.attrs.GetInt("transposed") != 0,
                           .add = args.accumulate};
  const PoolShape pool = MakePoolShape(rows.size(0), rows.size(1), args.in[2]);
  RowGroups groups = ListRowGroups(pool, args.in[2], args.attrs.GetInt("wave"));
  int64_t num_rows = 0;
  for (const RowGroup& group : groups.filled) num_rows += group.rows;
  const int64_t piece_rows = std::clamp(num_rows / (args.stream.num_threads * kPiecesPerThread),
                                        kMinPieceRows, kMaxPieceRows);
  std::vector<Piece> pieces = CutPieces(groups.filled, piece_rows);
  if (!args.accumulate) {
    for (const RowGroup& empty : groups.empty) {
      pieces.push_back({.expert = -1, .rows = empty.rows, .parts = {empty}});
    }
  }
  ParallelTasks(args.stream, static_cast<int64_t>(pieces.size()), [&](int64_t i) {
    const Piece& piece = pieces[i];
    const size_t next = static_cast<size_t>(i) + args.stream.num_threads;
    const int64_t upcoming = next < pieces.size() ? pieces[next].expert : -1;
    if (piece.expert >= 0) return Multiply(problem, piece, upcoming);
    std::fill_n(problem.out + piece.parts[0].start * problem.out_size,
                piece.rows * problem.out_size, 0.0f);
  });
}

}  // namespace trireme
