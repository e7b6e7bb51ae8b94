// Which keys a block of queries may see at all: tiles of attention, found from positions and
// segments alone, in whatever order these stand (ring attention holds two far parts of a sequence).
#ifndef TRIREME_KERNELS_OPS_ATTENTION_KEY_TILES_H_
#define TRIREME_KERNELS_OPS_ATTENTION_KEY_TILES_H_

#include <algorithm>
#include <cstdint>
#include <limits>

#include "kernels/ops/attention/operands.h"
#include "kernels/ops/kernel.h"

namespace trireme {

inline constexpr int64_t kQueryBlock = 64;
inline constexpr int64_t kKeyBlock = 256;

// Sizes and attributes; inputs q, k, v and the positions and segments start at `first_input` and
// `first_index`.
struct AttentionSizes {
  int64_t batch = 0, queries = 0, heads = 0, head_dim = 0, keys = 0, kv_heads = 0;
  int64_t query_group = 1, head_start = 0, kv_head_start = 0;
  float scale = 1;
  int64_t window = 0;
  const int32_t* q_positions = nullptr;
  const int32_t* k_positions = nullptr;
  const int32_t* q_segments = nullptr;
  const int32_t* k_segments = nullptr;

  int64_t KvHead(int64_t head) const { return (head + head_start) / query_group - kv_head_start; }
  int64_t QueryOffset(int64_t b, int64_t query, int64_t head) const {
    return ((b * queries + query) * heads + head) * head_dim;
  }
  int64_t KeyOffset(int64_t b, int64_t key, int64_t kv_head) const {
    return ((b * keys + key) * kv_heads + kv_head) * head_dim;
  }
  int64_t query_stride() const { return heads * head_dim; }
  int64_t key_stride() const { return kv_heads * head_dim; }
};

inline AttentionSizes MakeAttentionSizes(const KernelArgs& args, int q_input, int index_input) {
  const Tensor& q = args.in[q_input];
  const Tensor& k = args.in[q_input + 1];
  return {.batch = q.size(0),
          .queries = q.size(1),
          .heads = q.size(2),
          .head_dim = q.size(3),
          .keys = k.size(1),
          .kv_heads = k.size(2),
          .query_group = args.attrs.GetInt("query_group"),
          .head_start = args.attrs.GetInt("head_start", 0),
          .kv_head_start = args.attrs.GetInt("kv_head_start", 0),
          .scale = static_cast<float>(args.attrs.GetDouble("scale")),
          .window = args.attrs.GetInt("window", 0),
          .q_positions = args.in[index_input].i32(),
          .k_positions = args.in[index_input + 1].i32(),
          .q_segments = args.in[index_input + 2].i32(),
          .k_segments = args.in[index_input + 3].i32()};
}

// A block pair: queries [query, query + num_queries) and keys [key, key + num_keys) of batch row b.
struct AttentionTile {
  int64_t b = 0;
  int64_t query = 0, num_queries = 0;
  int64_t key = 0, num_keys = 0;
  bool masked = false;  // some pair in it is not allowed
};

// Smallest and largest of n > 0 numbers.
struct IntRange {
  int32_t low = std::numeric_limits<int32_t>::max();
  int32_t high = std::numeric_limits<int32_t>::min();
};
inline IntRange RangeOf(const int32_t* values, int64_t n) {
  IntRange range;
  for (int64_t i = 0; i < n; ++i) {
    range.low = std::min(range.low, values[i]);
    range.high = std::max(range.high, values[i]);
  }
  return range;
}

// Queries of a block that see keys of the segments and positions given.
struct QueryRun {
  IntRange segments;
  int32_t lowest = 0, highest = 0;  // key positions
};
inline constexpr int kMaxQueryRuns = 8;

inline QueryRun MakeQueryRun(const AttentionSizes& shape, int64_t at, int64_t n) {
  const IntRange positions = RangeOf(shape.q_positions + at, n);
  return {RangeOf(shape.q_segments + at, n), LowestKey(positions.low, shape.window),
          positions.high};
}

// Cuts the queries [at, at + n) where their segment changes, so that a short segment's first
// positions do not open the window of the segment before it. The last run takes what is left.
inline int FindQueryRuns(const AttentionSizes& shape, int64_t at, int64_t n, QueryRun* runs) {
  int count = 0;
  for (int64_t begin = 0; begin < n;) {
    int64_t end = begin + 1;
    while (end < n && (count + 1 == kMaxQueryRuns ||
                       shape.q_segments[at + end] == shape.q_segments[at + begin])) {
      ++end;
    }
    runs[count++] = MakeQueryRun(shape, at + begin, end - begin);
    begin = end;
  }
  return count;
}

// Calls f(tile) for the key blocks that the block of queries at `query` can see, in order. Blocks
// are trimmed to the keys between the first and the last that any query may see, so causal, window
// and segment masks cost only what they keep.
template <typename F>
void ForEachKeyTile(const AttentionSizes& shape, int64_t b, int64_t query, const F& f) {
  const int64_t num_queries = std::min(kQueryBlock, shape.queries - query);
  const int64_t first_query = b * shape.queries + query;
  QueryRun runs[kMaxQueryRuns];
  const int num_runs = FindQueryRuns(shape, first_query, num_queries, runs);
  const IntRange positions = RangeOf(shape.q_positions + first_query, num_queries);
  const IntRange segments = RangeOf(shape.q_segments + first_query, num_queries);
  for (int64_t block = 0; block < shape.keys; block += kKeyBlock) {
    const int64_t n = std::min(kKeyBlock, shape.keys - block);
    const int32_t* k_positions = shape.k_positions + b * shape.keys + block;
    const int32_t* k_segments = shape.k_segments + b * shape.keys + block;
    const auto visible = [&](int64_t j) {
      return std::any_of(runs, runs + num_runs, [&](const QueryRun& run) {
        return k_positions[j] <= run.highest && k_positions[j] >= run.lowest &&
               k_segments[j] >= run.segments.low && k_segments[j] <= run.segments.high;
      });
    };
    int64_t begin = 0;
    int64_t end = n;
    while (begin < n && !visible(begin)) ++begin;
    while (end > begin && !visible(end - 1)) --end;
    if (begin == end) continue;
    const IntRange key_positions = RangeOf(k_positions + begin, end - begin);
    const IntRange key_segments = RangeOf(k_segments + begin, end - begin);
    const bool one_segment = segments.low == segments.high && key_segments.low == segments.low &&
                             key_segments.high == segments.low;
    f(AttentionTile{b, query, num_queries, block + begin, end - begin,
                    !one_segment || key_positions.high > positions.low ||
                        key_positions.low < LowestKey(positions.high, shape.window)});
  }
}

}  // namespace trireme

#endif  // TRIREME_KERNELS_OPS_ATTENTION_KEY_TILES_H_
