// Attention by tiles with the online softmax: scores of a block of queries against a block of keys
// live in scratch of the second-level cache; running maxima and sums rescale what came before.
// Source: Dao et al. 2022, arXiv:2205.14135.
#include <cmath>

#include "kernels/device/cpu_util.h"
#include "kernels/device/parallel.h"
#include "kernels/device/scratch.h"
#include "kernels/ops/attention/cpu_tile.h"

namespace trireme {

void Reference_attention(const KernelArgs& args);

namespace {

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

// State of the online softmax of one query: o holds sum of exp(score - max) v.
struct Softmax {
  float max = kMinusInfinity;
  float sum = 0;
};

// scores become exp(score - new max); o is rescaled to the new maximum.
TRIREME_SIMD void SoftmaxRow(float* scores, int64_t n, Softmax* state, float* o, int64_t head_dim) {
  float max = state->max;
#pragma omp simd reduction(max : max)
  for (int64_t j = 0; j < n; ++j) max = scores[j] > max ? scores[j] : max;
  if (max == kMinusInfinity) {  // nothing allowed so far
#pragma omp simd
    for (int64_t j = 0; j < n; ++j) scores[j] = 0;
    return;
  }
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t j = 0; j < n; ++j) {
    const float p = FastExp(scores[j] - max);
    scores[j] = p;
    sum += p;
  }
  if (state->sum != 0 && state->max != max) {
    const float factor = FastExp(state->max - max);
    state->sum *= factor;
#pragma omp simd
    for (int64_t d = 0; d < head_dim; ++d) o[d] *= factor;
  }
  state->max = max;
  state->sum += sum;
}

TRIREME_SIMD void Divide(float* o, int64_t head_dim, float factor) {
#pragma omp simd
  for (int64_t d = 0; d < head_dim; ++d) o[d] *= factor;
}

// One block of queries of one head.
void QueryBlock(const KernelArgs& args, const AttentionSizes& shape, int64_t b, int64_t head,
                int64_t query) {
  const int64_t offset = shape.QueryOffset(b, query, head);
  const int64_t kv_head = shape.KvHead(head);
  float* o = args.out[0].f32() + offset;
  const int64_t stride = shape.query_stride();
  const int64_t num_queries = std::min(kQueryBlock, shape.queries - query);
  float* scores = ThreadScratchOf<float>(ScratchSlot::kTile, kQueryBlock * kKeyBlock);
  Softmax state[kQueryBlock];
  bool first = true;
  ForEachKeyTile(shape, b, query, [&](const AttentionTile& tile) {
    const int64_t key_offset = shape.KeyOffset(b, tile.key, kv_head);
    TileScores(shape, tile, args.in[0].f32() + offset, args.in[1].f32() + key_offset, scores);
    for (int64_t i = 0; i < num_queries; ++i) {
      RunSimd<SoftmaxRow>(scores + i * tile.num_keys, tile.num_keys, state + i, o + i * stride,
                          first ? 0 : shape.head_dim);
    }
    Gemm(1, {.m = num_queries, .n = shape.head_dim, .k = tile.num_keys},
         {scores, tile.num_keys, false}, {args.in[2].f32() + key_offset, shape.key_stride(), false},
         o, stride, /*add=*/!first);
    first = false;
  });
  float* lse = args.out[1].f32() + offset / shape.head_dim;
  for (int64_t i = 0; i < num_queries; ++i) {
    if (state[i].sum == 0) std::fill_n(o + i * stride, shape.head_dim, 0.0f);
    if (state[i].sum != 0) RunSimd<Divide>(o + i * stride, shape.head_dim, 1 / state[i].sum);
    lse[i * shape.heads] =
        state[i].sum == 0 ? kMinusInfinity : state[i].max + std::log(state[i].sum);
  }
}

}  // namespace

void Cpu_attention(const KernelArgs& args) {
  if (!AreFloat32(args.in, {0, 1, 2})) return Reference_attention(args);
  const AttentionSizes shape = MakeAttentionSizes(args, /*q_input=*/0, /*index_input=*/3);
  const int64_t blocks = CeilDiv(shape.queries, kQueryBlock);
  ParallelTasks(args.stream, shape.batch * shape.heads * blocks, [&](int64_t task) {
    const int64_t pair = task / blocks;
    const int64_t block = blocks - 1 - task % blocks;  // late blocks see the most keys: first
    QueryBlock(args, shape, pair / shape.heads, pair % shape.heads, block * kQueryBlock);
  });
}

}  // namespace trireme
