// dx row by row; dw and db by partial sums over chunks of rows.
#include "kernels/device/cpu_util.h"
#include "kernels/device/row_chunks.h"
#include "kernels/ops/kernel.h"

namespace trireme {

void Reference_layer_norm_grad(const KernelArgs& args);

namespace {

// With n = (x - mean) inv_std and h = dy w: dx = inv_std (h - mean(h) - n mean(h n)).
TRIREME_SIMD void GradRow(const float* dy, const float* x, const float* w, float mean,
                          float inv_std, float* dx, float* dw, float* db, int64_t n) {
  float sum = 0;
  float sum_normal = 0;
#pragma omp simd reduction(+ : sum, sum_normal)
  for (int64_t i = 0; i < n; ++i) {
    const float h = dy[i] * w[i];
    sum += h;
    sum_normal += h * ((x[i] - mean) * inv_std);
  }
  sum /= static_cast<float>(n);
  sum_normal /= static_cast<float>(n);
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const float d = dy[i];
    const float normal = (x[i] - mean) * inv_std;
    dw[i] += d * normal;
    db[i] += d;
    dx[i] = inv_std * (d * w[i] - sum - normal * sum_normal);
  }
}

}  // namespace

void Cpu_layer_norm_grad(const KernelArgs& args) {
  if (!AreFloat32(args.in, {0, 1, 2, 3, 4})) return Reference_layer_norm_grad(args);
  const RowShape shape = RowsOf(args.in[0]);
  const int64_t n = shape.columns;
  const float* dy = args.in[0].f32();
  const float* x = args.in[1].f32();
  const float* w = args.in[2].f32();
  const float* mean = args.in[3].f32();
  const float* inv_std = args.in[4].f32();
  float* dx = args.out[0].f32();
  float* sums = ThreadScratchOf<float>(ScratchSlot::kTile, 2 * n);
  SumRowChunks(args.stream, shape.rows, n, 2 * n, sums, /*add=*/false,
               [&](int64_t begin, int64_t end, float* partial) {
                 for (int64_t row = begin; row < end; ++row) {
                   RunSimd<GradRow>(dy + row * n, x + row * n, w, mean[row], inv_std[row],
                                    dx + row * n, partial, partial + n, n);
                 }
               });
  for (int i = 0; i < 2; ++i) {
    float* out = args.out[1 + i].f32();
    if (!args.accumulate) std::fill_n(out, n, 0.0f);
    RunSimd<AddInto>(sums + i * n, out, n);
  }
}

}  // namespace trireme
