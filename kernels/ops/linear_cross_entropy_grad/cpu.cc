// Gradient of the linear head by tiles: logits again, softmax in place, then the two products that
// use the tile.
#include "kernels/device/cpu_util.h"
#include "kernels/device/parallel.h"
#include "kernels/device/simd_math.h"
#include "kernels/ops/linear_cross_entropy/cpu_tiles.h"

namespace trireme {

void Reference_linear_cross_entropy_grad(const KernelArgs& args);

namespace {

// z = scale * exp(z - lse).
TRIREME_SIMD void SoftmaxRow(float* z, int64_t n, float lse, float scale) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) z[i] = scale * FastExp(z[i] - lse);
}

// Turns the tile's logits into their gradient.
void LogitGrad(const KernelArgs& args, const HeadShape& shape, const HeadTile& tile) {
  const int32_t* targets = args.in[2].i32();
  const float* weights = args.in[3].f32();
  const float* lse = args.in[4].f32();
  const double dloss = args.in[5].f64()[0];
  ParallelRows(args.stream, tile.tokens, tile.rows, [&](int64_t i) {
    const int64_t token = tile.token + i;
    float* z = tile.logits + i * tile.rows;
    const float scale = static_cast<float>(dloss * weights[token]);
    if (scale == 0) {  // padding tokens count for nothing, whatever they hold
      std::fill_n(z, tile.rows, 0.0f);
      return;
    }
    RunSimd<SoftmaxRow>(z, tile.rows, lse[token], scale);
    const int64_t target = targets[token] - shape.vocab_start - tile.row;
    if (target >= 0 && target < tile.rows) z[target] -= scale;
  });
}

}  // namespace

void Cpu_linear_cross_entropy_grad(const KernelArgs& args) {
  if (!AreFloat32(args.in, {0, 1, 3, 4})) return Reference_linear_cross_entropy_grad(args);
  const HeadShape shape = MakeHeadShape(args);
  const int64_t embed = shape.embed;
  const float* x = args.in[0].f32();
  const float* w = args.in[1].f32();
  float* dx = args.out[0].f32();
  float* dw = args.out[1].f32();
  if (shape.valid == 0) std::fill_n(dx, shape.tokens * embed, 0.0f);
  if (!args.accumulate) {  // padding rows, and all when there is no token
    const int64_t kept = shape.tokens == 0 ? 0 : shape.valid;
    std::fill_n(dw + kept * embed, (shape.vocab - kept) * embed, 0.0f);
  }
  ForEachHeadTile(args, shape, [&](const HeadTile& tile) {
    LogitGrad(args, shape, tile);
    Gemm(args.stream.num_threads, {.m = tile.tokens, .n = embed, .k = tile.rows},
         {tile.logits, tile.rows, false}, {w + tile.row * embed, embed, false},
         dx + tile.token * embed, embed, /*add=*/tile.row > 0);
    Gemm(args.stream.num_threads, {.m = tile.rows, .n = embed, .k = tile.tokens},
         {tile.logits, tile.rows, true}, {x + tile.token * embed, embed, false},
         dw + tile.row * embed, embed, /*add=*/args.accumulate || tile.token > 0);
  });
}

}  // namespace trireme
