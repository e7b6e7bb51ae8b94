// Gradient of attention by the tiles of the forward. A task owns one key/value head of one batch
// row, so dk and dv of it are summed by one thread in a fixed order. Source: Dao et al. 2022,
// arXiv:2205.14135, algorithm 4.
#include "kernels/device/cpu_util.h"
#include "kernels/device/parallel.h"
#include "kernels/device/scratch.h"
#include "kernels/ops/attention/cpu_tile.h"

namespace trireme {

void Reference_attention_grad(const KernelArgs& args);

namespace {

struct GradPointers {
  const float *d_o, *q, *k, *v, *o, *lse;
  float *dq, *dk, *dv;
};

// p = exp(s - lse); 0 everywhere for a query that sees no key (lse = -inf).
TRIREME_SIMD void ProbabilityRow(float* s, int64_t n, float lse) {
  const bool none = lse == -std::numeric_limits<float>::infinity();
  const float shift = none ? 0.0f : lse;
  const float factor = none ? 0.0f : 1.0f;
#pragma omp simd
  for (int64_t j = 0; j < n; ++j) s[j] = factor * FastExp(s[j] - shift);
}

// ds = p (dp - delta) scale, in place of dp.
TRIREME_SIMD void ScoreGradRow(const float* p, float* dp, int64_t n, float delta, float scale) {
#pragma omp simd
  for (int64_t j = 0; j < n; ++j) dp[j] = p[j] * (dp[j] - delta) * scale;
}

TRIREME_SIMD void DotRow(const float* a, const float* b, int64_t n, float* result) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t d = 0; d < n; ++d) sum += a[d] * b[d];
  *result = sum;
}

// One block pair. dk and dv are added to; dq is set when `first`.
void GradTile(const AttentionSizes& shape, const AttentionTile& tile, const GradPointers& at,
              const float* delta, bool first) {
  const int64_t m = tile.num_queries;
  const int64_t n = tile.num_keys;
  const int64_t head_dim = shape.head_dim;
  const int64_t q_stride = shape.query_stride();
  const int64_t k_stride = shape.key_stride();
  float* p = ThreadScratchOf<float>(ScratchSlot::kTile, kQueryBlock * kKeyBlock);
  float* ds = ThreadScratchOf<float>(ScratchSlot::kSecondTile, kQueryBlock * kKeyBlock);
  TileScores(shape, tile, at.q, at.k, p);
  Gemm(1, {.m = m, .n = n, .k = head_dim}, {at.d_o, q_stride}, {at.v, k_stride, true}, ds, n,
       /*add=*/false);
  for (int64_t i = 0; i < m; ++i) {
    RunSimd<ProbabilityRow>(p + i * n, n, at.lse[i * shape.heads]);
    RunSimd<ScoreGradRow>(p + i * n, ds + i * n, n, delta[i], shape.scale);
  }
  Gemm(1, {.m = n, .n = head_dim, .k = m}, {p, n, true}, {at.d_o, q_stride}, at.dv, k_stride,
       /*add=*/true);
  Gemm(1, {.m = n, .n = head_dim, .k = m}, {ds, n, true}, {at.q, q_stride}, at.dk, k_stride,
       /*add=*/true);
  Gemm(1, {.m = m, .n = head_dim, .k = n}, {ds, n}, {at.k, k_stride}, at.dq, q_stride,
       /*add=*/!first);
}

GradPointers PointersAt(const KernelArgs& args, const AttentionSizes& shape, int64_t q_offset,
                        int64_t k_offset) {
  return {.d_o = args.in[0].f32() + q_offset,
          .q = args.in[1].f32() + q_offset,
          .k = args.in[2].f32() + k_offset,
          .v = args.in[3].f32() + k_offset,
          .o = args.in[4].f32() + q_offset,
          .lse = args.in[5].f32() + q_offset / shape.head_dim,
          .dq = args.out[0].f32() + q_offset,
          .dk = args.out[1].f32() + k_offset,
          .dv = args.out[2].f32() + k_offset};
}

// All blocks of one query head.
void GradHead(const KernelArgs& args, const AttentionSizes& shape, int64_t b, int64_t head,
              int64_t kv_head) {
  for (int64_t query = 0; query < shape.queries; query += kQueryBlock) {
    const int64_t num_queries = std::min(kQueryBlock, shape.queries - query);
    const int64_t q_offset = shape.QueryOffset(b, query, head);
    const GradPointers block = PointersAt(args, shape, q_offset, 0);
    float delta[kQueryBlock];
    for (int64_t i = 0; i < num_queries; ++i) {
      const int64_t row = i * shape.query_stride();
      RunSimd<DotRow>(block.d_o + row, block.o + row, shape.head_dim, delta + i);
    }
    bool first = true;
    ForEachKeyTile(shape, b, query, [&](const AttentionTile& tile) {
      GradTile(shape, tile,
               PointersAt(args, shape, q_offset, shape.KeyOffset(b, tile.key, kv_head)), delta,
               first);
      first = false;
    });
    for (int64_t i = 0; i < num_queries && first; ++i) {  // no key is visible
      std::fill_n(block.dq + i * shape.query_stride(), shape.head_dim, 0.0f);
    }
  }
}

}  // namespace

void Cpu_attention_grad(const KernelArgs& args) {
  if (!AreFloat32(args.in, {0, 1, 2, 3, 4})) return Reference_attention_grad(args);
  const AttentionSizes shape = MakeAttentionSizes(args, /*q_input=*/1, /*index_input=*/6);
  ParallelTasks(args.stream, shape.batch * shape.kv_heads, [&](int64_t task) {
    const int64_t b = task / shape.kv_heads;
    const int64_t kv_head = task % shape.kv_heads;
    for (int64_t key = 0; key < shape.keys; ++key) {
      const int64_t offset = shape.KeyOffset(b, key, kv_head);
      std::fill_n(args.out[1].f32() + offset, shape.head_dim, 0.0f);
      std::fill_n(args.out[2].f32() + offset, shape.head_dim, 0.0f);
    }
    for (int64_t head = 0; head < shape.heads; ++head) {
      if (shape.KvHead(head) == kv_head) GradHead(args, shape, b, head, kv_head);
    }
  });
}

}  // namespace trireme
