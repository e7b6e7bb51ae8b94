// Feistel with equal halves: both become right_bits wide, so it works on up to four times n and
// walks back inside.
#include "common/formats/batch_order.h"

#include "common/base/check.h"
#include "common/base/math.h"

namespace trireme {

int64_t FeistelPermute(int64_t index, int64_t n, const FeistelKeys& keys) {
  CHECK(n >= 1 && n <= int64_t{1} << 40) << n;
  CHECK(index >= 0 && index < n) << index << " of " << n;
  int bits = 0;
  while ((int64_t{1} << bits) < n) ++bits;
  const int half_bits = (bits + 1) / 2;
  const uint64_t mask = (uint64_t{1} << half_bits) - 1;
  auto x = static_cast<uint64_t>(index);
  // Ends: the network is a bijection, so walking from x returns to x, which is below n.
  do {
    uint64_t left = x >> half_bits;
    uint64_t right = x & mask;
    for (const uint64_t key : keys) {
      const uint64_t mixed = (right * 2654435761u + key) & mask;
      const uint64_t next = left ^ mixed;
      left = right;
      right = next;
    }
    x = left << half_bits | right;
  } while (x >= static_cast<uint64_t>(n));
  return static_cast<int64_t>(x);
}

FeistelKeys EpochKeys(int64_t seed, int64_t epoch) {
  const uint64_t stream = StableHash("trireme/batch_order");
  const uint64_t base =
      Mix64(Mix64(Mix64(stream) ^ static_cast<uint64_t>(seed)) ^ static_cast<uint64_t>(epoch));
  FeistelKeys keys = {};
  for (size_t i = 0; i < keys.size(); ++i) keys[i] = Mix64(base + i);
  return keys;
}

StatusOr<int64_t> NumWindows(int64_t num_tokens, int64_t sequence_length) {
  CHECK(sequence_length >= 1) << sequence_length;
  if (num_tokens > sequence_length) return (num_tokens - 1) / sequence_length;
  return InvalidArgument(std::to_string(num_tokens) + " tokens of data are fewer than the " +
                         std::to_string(sequence_length + 1) +
                         " that one sequence and its last target need; give more text or a shorter "
                         "data.sequence_length");
}

int64_t WindowAt(int64_t seed, int64_t step, int64_t position, int64_t global_batch_size,
                 int64_t num_windows) {
  CHECK(step >= 0 && position >= 0 && position < global_batch_size) << step << " " << position;
  const __int128 index = static_cast<__int128>(step) * global_batch_size + position;
  const auto epoch = static_cast<int64_t>(index / num_windows);
  const auto within = static_cast<int64_t>(index % num_windows);
  return FeistelPermute(within, num_windows, EpochKeys(seed, epoch));
}

std::vector<int64_t> BatchWindows(int64_t seed, int64_t step, int64_t global_batch_size,
                                  int64_t num_windows) {
  std::vector<int64_t> windows;
  for (int64_t i = 0; i < global_batch_size; ++i) {
    windows.push_back(WindowAt(seed, step, i, global_batch_size, num_windows));
  }
  return windows;
}

}  // namespace trireme
