// Which piece of the data each sequence of a batch is: a pure function of (seed, step), so every
// layout, every number of hosts and every resumed job sees the same batches. The tokens are cut
// into windows that do not overlap; each epoch visits all of them once, in an order shuffled by a
// Feistel network.
#ifndef TRIREME_COMMON_FORMATS_BATCH_ORDER_H_
#define TRIREME_COMMON_FORMATS_BATCH_ORDER_H_

#include <array>
#include <cstdint>
#include <vector>

#include "common/base/status.h"

namespace trireme {

using FeistelKeys = std::array<uint64_t, 5>;

// Where `index` goes in a permutation of 0..n-1: five Feistel rounds, repeated until the result is
// below n. Requires 0 <= index < n <= 2^40. Source: marin lib/haliax/levanter data permutations,
// "feistel".
int64_t FeistelPermute(int64_t index, int64_t n, const FeistelKeys& keys);

// Round keys of one epoch; ours, a function of nothing else.
FeistelKeys EpochKeys(int64_t seed, int64_t epoch);

// Windows of sequence_length tokens and one target beyond them; window w starts at token w *
// sequence_length. Errors: kInvalidArgument when there is not even one, naming both numbers.
StatusOr<int64_t> NumWindows(int64_t num_tokens, int64_t sequence_length);

// Window of sequence `position` of the global batch of `step`.
// Requires 0 <= position < global_batch_size, num_windows >= 1, step >= 0.
int64_t WindowAt(int64_t seed, int64_t step, int64_t position, int64_t global_batch_size,
                 int64_t num_windows);

// All windows of the global batch of `step`, in order.
std::vector<int64_t> BatchWindows(int64_t seed, int64_t step, int64_t global_batch_size,
                                  int64_t num_windows);

}  // namespace trireme

#endif  // TRIREME_COMMON_FORMATS_BATCH_ORDER_H_
