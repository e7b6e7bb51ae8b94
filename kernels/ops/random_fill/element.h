// The value of one element of a randomly filled tensor: a pure function of seed, stream and global
// index, so that every split of the tensor holds the same numbers.
#ifndef TRIREME_KERNELS_OPS_RANDOM_FILL_ELEMENT_H_
#define TRIREME_KERNELS_OPS_RANDOM_FILL_ELEMENT_H_

#include <cmath>
#include <cstdint>
#include <vector>

#include "common/base/math.h"

namespace trireme {

// Key of one tensor's numbers.
constexpr uint64_t RandomKey(int64_t seed, int64_t stream) {
  return Mix64(Mix64(static_cast<uint64_t>(seed)) + static_cast<uint64_t>(stream));
}

// The `counter`-th number of the key: uniform on (0, 1), 53 bits, never 0 or 1.
constexpr double RandomUniform(uint64_t key, uint64_t counter) {
  const uint64_t bits = Mix64(key ^ Mix64(counter)) >> 11;
  return (static_cast<double>(bits) + 0.5) * 0x1.0p-53;
}

// Standard normal number of flat index `index` by Box & Muller 1958.
inline double RandomNormal(uint64_t key, uint64_t index) {
  constexpr double kTwoPi = 6.283185307179586476925286766559;
  const double u = RandomUniform(key, 2 * index);
  const double v = RandomUniform(key, 2 * index + 1);
  return std::sqrt(-2 * std::log(u)) * std::cos(kTwoPi * v);
}

// Standard normal number cut at +-3: draws outside are drawn again, each time from a key of its
// own, so that the element is still a function of its index alone. A draw in 370 is outside.
inline double RandomTruncatedNormal(uint64_t key, uint64_t index) {
  constexpr double kCut = 3;
  constexpr int kMaxDraws = 16;  // 1e-41 is the chance to need more
  double value = RandomNormal(key, index);
  for (int draw = 1; std::abs(value) > kCut && draw < kMaxDraws; ++draw) {
    value = RandomNormal(Mix64(key + static_cast<uint64_t>(draw)), index);
  }
  return std::abs(value) > kCut ? 0.0 : value;
}

// Row-major index in the logical tensor of the local element `local`, or -1 where it is padding.
inline int64_t LogicalIndex(int64_t local, const std::vector<int64_t>& local_sizes,
                            const std::vector<int64_t>& start,
                            const std::vector<int64_t>& global_sizes) {
  int64_t index = 0;
  int64_t stride = 1;
  for (int i = static_cast<int>(local_sizes.size()) - 1; i >= 0; --i) {
    const int64_t coordinate = start[i] + local % local_sizes[i];
    if (coordinate >= global_sizes[i]) return -1;
    index += coordinate * stride;
    stride *= global_sizes[i];
    local /= local_sizes[i];
  }
  return index;
}

}  // namespace trireme

#endif  // TRIREME_KERNELS_OPS_RANDOM_FILL_ELEMENT_H_
