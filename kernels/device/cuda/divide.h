// Division by a number that is the same for a whole launch, without the division that GPUs lack: a
// multiplication and a shift (Granlund & Montgomery 1994, figure 4.1).
#ifndef TRIREME_KERNELS_DEVICE_CUDA_DIVIDE_H_
#define TRIREME_KERNELS_DEVICE_CUDA_DIVIDE_H_

#include "kernels/device/cuda/cuda.h"

namespace trireme {

struct DividedBy {
  int64_t quotient, remainder;
};

// Made on the host, used on the device. The divisor is at least 1, what is divided at least 0.
class Divider {
 public:
  Divider() = default;
  explicit Divider(int64_t divisor) : divisor_(divisor) {
    CHECK_GE(divisor, 1);
    while (shift_ < 63 && int64_t{1} << shift_ < divisor) ++shift_;
    // 2^64 (2^shift - divisor) / divisor + 1 fits in 64 bits: 2^shift < 2 divisor.
    const auto excess = (uint64_t{1} << shift_) - static_cast<uint64_t>(divisor);
    const auto high = static_cast<unsigned __int128>(excess) << 64;
    factor_ = static_cast<uint64_t>(high / static_cast<uint64_t>(divisor)) + 1;
  }

  __device__ __forceinline__ int64_t Quotient(int64_t n) const {
    const auto value = static_cast<uint64_t>(n);
    return static_cast<int64_t>((__umul64hi(value, factor_) + value) >> shift_);
  }
  __device__ __forceinline__ DividedBy Divide(int64_t n) const {
    const int64_t quotient = Quotient(n);
    return {quotient, n - quotient * divisor_};
  }

 private:
  int64_t divisor_ = 1;
  uint64_t factor_ = 1;
  int shift_ = 0;
};

}  // namespace trireme

#endif  // TRIREME_KERNELS_DEVICE_CUDA_DIVIDE_H_
