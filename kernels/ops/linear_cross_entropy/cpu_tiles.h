// The linear head in tiles: logits are made for a block of tokens and a block of vocabulary rows at
// a time, in scratch of at most kTokenBlock x kVocabBlock floats (16 MiB), which stays in the
// last-level cache.
#ifndef TRIREME_KERNELS_OPS_LINEAR_CROSS_ENTROPY_CPU_TILES_H_
#define TRIREME_KERNELS_OPS_LINEAR_CROSS_ENTROPY_CPU_TILES_H_

#include <algorithm>
#include <cstdint>

#include "kernels/device/gemm.h"
#include "kernels/device/scratch.h"
#include "kernels/ops/kernel.h"

namespace trireme {

// x is [tokens, embed], w is [vocab, embed]; only the first `valid` rows of w are not padding.
struct HeadShape {
  int64_t tokens = 0;
  int64_t embed = 0;
  int64_t vocab = 0;
  int64_t valid = 0;
  int64_t vocab_start = 0;
};

inline HeadShape MakeHeadShape(const KernelArgs& args) {
  const Tensor& w = args.in[1];
  HeadShape shape = {.tokens = args.in[2].count(),
                     .embed = w.size(1),
                     .vocab = w.size(0),
                     .vocab_start = args.attrs.GetInt("vocab_start", 0)};
  shape.valid =
      std::clamp<int64_t>(args.attrs.GetInt("vocab_size") - shape.vocab_start, 0, shape.vocab);
  return shape;
}

struct HeadTile {
  int64_t token = 0;  // first token
  int64_t tokens = 0;
  int64_t row = 0;  // first row of w
  int64_t rows = 0;
  float* logits = nullptr;  // [tokens, rows]
};

inline constexpr int64_t kTokenBlock = 1024;
inline constexpr int64_t kTileFloats = int64_t{4} << 20;

// f(tile) for every tile; the tiles of one block of tokens follow each other in row order. The
// logits are filled in.
template <typename F>
void ForEachHeadTile(const KernelArgs& args, const HeadShape& shape, const F& f) {
  const float* x = args.in[0].f32();
  const float* w = args.in[1].f32();
  for (int64_t token = 0; token < shape.tokens; token += kTokenBlock) {
    const int64_t tokens = std::min(kTokenBlock, shape.tokens - token);
    const int64_t block = std::min(shape.valid, kTileFloats / std::max<int64_t>(tokens, 256));
    for (int64_t row = 0; row < shape.valid; row += block) {
      const int64_t rows = std::min(block, shape.valid - row);
      float* logits = ThreadScratchOf<float>(ScratchSlot::kTile, tokens * block);
      Gemm(args.stream.num_threads, {.m = tokens, .n = rows, .k = shape.embed},
           {x + token * shape.embed, shape.embed, false},
           {w + row * shape.embed, shape.embed, true}, logits, rows, /*add=*/false);
      f(HeadTile{token, tokens, row, rows, logits});
    }
  }
}

}  // namespace trireme

#endif  // TRIREME_KERNELS_OPS_LINEAR_CROSS_ENTROPY_CPU_TILES_H_
