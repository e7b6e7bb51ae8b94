// Several neighbouring elements moved by one access: the alignment makes the compiler load and
// store them together.
#ifndef TRIREME_KERNELS_DEVICE_CUDA_WIDE_H_
#define TRIREME_KERNELS_DEVICE_CUDA_WIDE_H_

#include "kernels/device/cuda/cuda.h"

namespace trireme {

template <typename T, int kCount>
struct alignas(kCount * sizeof(T)) Wide {
  T at[kCount];
};

// Elements of T in 16 bytes, the longest access of a thread.
template <typename T>
inline constexpr int kWidest = 16 / static_cast<int>(sizeof(T));

// Group `i` of kCount elements of the array at `p`.
template <int kCount, typename T>
__device__ __forceinline__ Wide<T, kCount> LoadWide(const T* p, int64_t i) {
  return reinterpret_cast<const Wide<T, kCount>*>(p)[i];
}
template <int kCount, typename T>
__device__ __forceinline__ void StoreWide(T* p, int64_t i, const Wide<T, kCount>& value) {
  reinterpret_cast<Wide<T, kCount>*>(p)[i] = value;
}

// Whether 16-byte accesses may start at each of the addresses.
template <typename... T>
bool AreAligned16(const T*... p) {
  return ((reinterpret_cast<uintptr_t>(p) % 16 == 0) && ...);
}

}  // namespace trireme

#endif  // TRIREME_KERNELS_DEVICE_CUDA_WIDE_H_
