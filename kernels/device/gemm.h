// Matrix products of float32 through oneDNN.
#ifndef TRIREME_KERNELS_DEVICE_GEMM_H_
#define TRIREME_KERNELS_DEVICE_GEMM_H_

#include <cstdint>

namespace trireme {

// A matrix in memory: element (r, c) is data[r * ld + c], or data[c * ld + r] when `transposed`.
struct MatrixView {
  const float* data = nullptr;
  int64_t ld = 0;
  bool transposed = false;
};

// c[r * ldc + n] = sum_k a(r, k) b(k, n), or += when `add`. a is [m, k], b is [k, n].
// Runs on `num_threads` threads; inside a parallel region pass 1. k == 0 gives zeros.
struct GemmShape {
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
};
void Gemm(int num_threads, const GemmShape& shape, const MatrixView& a, const MatrixView& b,
          float* c, int64_t ldc, bool add);

}  // namespace trireme

#endif  // TRIREME_KERNELS_DEVICE_GEMM_H_
