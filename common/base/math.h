// Small integer arithmetic used everywhere, and the stable hash that names random streams.
#ifndef TRIREME_COMMON_BASE_MATH_H_
#define TRIREME_COMMON_BASE_MATH_H_

#include <cstdint>
#include <string_view>
#include <vector>

namespace trireme {

constexpr int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }
constexpr int64_t RoundUp(int64_t a, int64_t multiple) { return CeilDiv(a, multiple) * multiple; }

inline int64_t Product(const std::vector<int64_t>& values) {
  int64_t product = 1;
  for (const int64_t value : values) product *= value;
  return product;
}

// Row-major strides, in elements, of a dense tensor. Example: {2,3,4} gives {12,4,1}.
inline std::vector<int64_t> DenseStrides(const std::vector<int64_t>& sizes) {
  std::vector<int64_t> strides(sizes.size(), 1);
  for (int i = static_cast<int>(sizes.size()) - 2; i >= 0; --i) {
    strides[i] = strides[i + 1] * sizes[i + 1];
  }
  return strides;
}

// 64-bit FNV-1a: the same on every machine and build, so it may enter files and random streams.
constexpr uint64_t StableHash(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325ull;
  for (const char c : text) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3ull;
  }
  return hash;
}

// SplitMix64's mixing function: a bijection on 64 bits with good avalanche (Steele et al. 2014).
constexpr uint64_t Mix64(uint64_t x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

}  // namespace trireme

#endif  // TRIREME_COMMON_BASE_MATH_H_
