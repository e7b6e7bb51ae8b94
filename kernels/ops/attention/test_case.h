// Cases for the tests of attention and attention_grad: causal, packed in segments, grouped kv
// heads, queries that see nothing.
#ifndef TRIREME_KERNELS_OPS_ATTENTION_TEST_CASE_H_
#define TRIREME_KERNELS_OPS_ATTENTION_TEST_CASE_H_

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "kernels/testing/op_case.h"

namespace trireme {

struct AttentionShape {
  int64_t batch = 1, queries = 1, keys = 1, heads = 1, kv_heads = 1, head_dim = 1;
  int64_t segment_length = 1000;  // positions start again after so many
  int64_t first_query = 0;        // place of query 0 among the keys
  int64_t window = 0;             // positions that a query sees, 0: all
};

// Positions that start again, and numbers, of the segments of places first, first + 1, ..
inline void Places(int64_t batch, int64_t count, int64_t first, int64_t length,
                   std::vector<double>& positions, std::vector<double>& segments) {
  for (int64_t b = 0; b < batch; ++b) {
    for (int64_t i = 0; i < count; ++i) {
      positions.push_back(static_cast<double>((first + i) % length));
      segments.push_back(std::floor(static_cast<double>(first + i) / static_cast<double>(length)));
    }
  }
}

inline OpCase AttentionCase(const AttentionShape& s) {
  const Dim batch{"batch", s.batch}, queries{"position", s.queries}, keys{"key_position", s.keys};
  const std::vector<Dim> q{batch, queries, {"heads", s.heads}, {"head_dim", s.head_dim}};
  const std::vector<Dim> k{batch, keys, {"kv_heads", s.kv_heads}, {"head_dim", s.head_dim}};
  std::vector<double> q_positions, q_segments, k_positions, k_segments;
  Places(s.batch, s.queries, s.first_query, s.segment_length, q_positions, q_segments);
  Places(s.batch, s.keys, 0, s.segment_length, k_positions, k_segments);
  Attrs attrs{{"scale", 1.0 / std::sqrt(static_cast<double>(s.head_dim))},
              {"query_group", s.heads / s.kv_heads}};
  if (s.window > 0) attrs.Set("window", s.window);
  return {.op = "attention",
          .attrs = attrs,
          .inputs = {Normal(q), Normal(k), Normal(k),
                     Given({batch, queries}, DType::kInt32, q_positions),
                     Given({batch, keys}, DType::kInt32, k_positions),
                     Given({batch, queries}, DType::kInt32, q_segments),
                     Given({batch, keys}, DType::kInt32, k_segments)}};
}

// Sizes 1, 3, 5, 7; segments; grouped heads; more keys than queries; queries before every key of
// their segment; windows, also wider than the sequence.
inline std::vector<AttentionShape> AttentionShapes() {
  return {{1, 1, 1, 1, 1, 1},
          {1, 3, 3, 1, 1, 5},
          {3, 5, 5, 3, 3, 7},
          {2, 7, 7, 6, 2, 4, 3},
          {2, 5, 7, 4, 1, 3, 1000, 2},
          {2, 6, 3, 2, 2, 4, 4, -2},
          {2, 7, 7, 4, 2, 3, 5, 0, 3},
          {1, 5, 5, 1, 1, 2, 1000, 0, 2},
          {1, 4, 4, 2, 1, 3, 1000, 0, 9}};
}

// The case, of float64 or float32 alike, with its keys [begin, begin + size) only. `k` is the input
// number of k; v follows it; the key positions and segments are at `index` and `index` + 2.
inline OpCase KeysOf(OpCase c, int64_t begin, int64_t size, int k = 1, int index = 4) {
  const std::vector<HostTensor> inputs = MakeInputs(c);
  for (int i = 0; i < static_cast<int>(inputs.size()); ++i) {
    OpInput& input = c.inputs[i];
    const bool of_keys = i == k || i == k + 1 || i == index || i == index + 2;
    const HostTensor part = of_keys ? inputs[i].Slice(1, begin, size) : inputs[i];
    if (of_keys) input.dims[1].size = size;
    input = Given(input.dims, input.dtype, part.Values());
  }
  return c;
}

// Places of `count` positions as a rank of zig-zag ring attention holds them: four parts in the
// order 0, 3, 1, 2, and then some single places swapped over the whole length.
inline std::vector<int64_t> ZigZag(int64_t count, bool swap) {
  std::vector<int64_t> order;
  for (const int64_t part : {0, 3, 1, 2}) {
    for (int64_t i = part * count / 4; i < (part + 1) * count / 4; ++i) order.push_back(i);
  }
  for (int64_t i = 0; i < count / 2 && swap; i += 5) std::swap(order[i], order[count - 1 - i]);
  return order;
}

// Rows of dim 1 in another order: row i of the result is row order[i]; or, when `back`, the
// reverse.
inline HostTensor Reordered(const HostTensor& tensor, const std::vector<int64_t>& order,
                            bool back = false) {
  HostTensor result = tensor;
  for (int64_t i = 0; i < static_cast<int64_t>(order.size()); ++i) {
    result.Place(1, back ? order[i] : i, tensor.Slice(1, back ? i : order[i], 1));
  }
  return result;
}

}  // namespace trireme

#endif  // TRIREME_KERNELS_OPS_ATTENTION_TEST_CASE_H_
