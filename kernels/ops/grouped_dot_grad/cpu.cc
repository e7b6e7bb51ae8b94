// Each thread computes blocks of rows of experts' gradients, so that nothing is added up between
// threads.
#include <algorithm>

#include "kernels/device/cpu_util.h"
#include "kernels/device/parallel.h"
#include "kernels/device/scratch.h"
#include "kernels/device/small_gemm.h"
#include "kernels/ops/grouped_dot/pieces.h"
#include "kernels/ops/kernel.h"

namespace trireme {

void Reference_grouped_dot_grad(const KernelArgs& args);

namespace {

// Rows of the pool that one product sums over; those of several parts are copied together.
constexpr int64_t kProductRows = 256;
// Each block reads all of its expert's dout, so small ones cost more.
constexpr int64_t kMinBlock = 96;
constexpr int64_t kBlocksPerThread = 4;

struct Problem {
  const float* rows = nullptr;
  const float* dout = nullptr;
  float* dw = nullptr;
  int64_t in_size = 0;
  int64_t out_size = 0;
  bool add = false;
};

// Rows [begin, end) of the gradient of an expert.
struct Block {
  int64_t expert = 0;
  int64_t begin = 0;
  int64_t end = 0;
};

void Multiply(const Problem& problem, const std::vector<Piece>& pieces, const Block& block) {
  const int64_t in_size = problem.in_size, out_size = problem.out_size;
  float* dw = problem.dw + (block.expert * in_size + block.begin) * out_size;
  bool add = problem.add;
  if (!add && pieces.empty()) std::fill_n(dw, (block.end - block.begin) * out_size, 0.0f);
  for (const Piece& piece : pieces) {
    const float* rows = problem.rows + piece.parts[0].start * in_size;
    const float* dout = problem.dout + piece.parts[0].start * out_size;
    if (piece.parts.size() > 1) {
      float* dense_rows = ThreadScratchOf<float>(ScratchSlot::kRows, piece.rows * in_size);
      float* dense_dout = ThreadScratchOf<float>(ScratchSlot::kTile, piece.rows * out_size);
      GatherPiece(piece, problem.rows, in_size, dense_rows);
      GatherPiece(piece, problem.dout, out_size, dense_dout);
      rows = dense_rows;
      dout = dense_dout;
    }
    SmallGemm({.m = block.end - block.begin, .n = out_size, .k = piece.rows},
              {rows + block.begin, in_size, true}, {dout, out_size, false}, dw, out_size, add);
    add = true;
  }
}

}  // namespace

void Cpu_grouped_dot_grad(const KernelArgs& args) {
  if (!AreFloat32(args.in, {0, 1})) return Reference_grouped_dot_grad(args);
  const Tensor& rows = args.in[0];
  const Problem problem = {.rows = rows.f32(),
                           .dout = args.in[1].f32(),
                           .dw = args.out[0].f32(),
                           .in_size = rows.sizes.back(),
                           .out_size = args.in[1].sizes.back(),
                           .add = args.accumulate};
  const PoolShape pool = MakePoolShape(rows.size(0), rows.size(1), args.in[2]);
  const RowGroups groups = ListRowGroups(pool, args.in[2], args.attrs.GetInt("wave"));
  const int64_t num_experts = args.out[0].size(0);
  std::vector<std::vector<Piece>> pieces(num_experts);
  std::vector<int64_t> expert_rows(num_experts);
  int64_t num_rows = 0;
  for (Piece& piece : CutPieces(groups.filled, kProductRows)) {
    num_rows += piece.rows;
    expert_rows[piece.expert] += piece.rows;
    pieces[piece.expert].push_back(std::move(piece));
  }
  std::vector<Block> blocks;
  for (int64_t expert = 0; expert < num_experts; ++expert) {
    if (args.accumulate && pieces[expert].empty()) continue;
    const int64_t wanted =
        std::max<int64_t>(1, args.stream.num_threads * kBlocksPerThread * expert_rows[expert] /
                                 std::max<int64_t>(1, num_rows));
    const int64_t size = std::max(kMinBlock, CeilDiv(problem.in_size, wanted));
    for (int64_t begin = 0; begin < problem.in_size; begin += size) {
      blocks.push_back({expert, begin, std::min(problem.in_size, begin + size)});
    }
  }
  ParallelTasks(args.stream, static_cast<int64_t>(blocks.size()),
                [&](int64_t i) { Multiply(problem, pieces[blocks[i].expert], blocks[i]); });
}

}  // namespace trireme
