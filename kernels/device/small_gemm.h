// Products of matrices that are too small for the library to be fast: 64 rows, or an inner dim of
// 64, where it spends much of its time copying operands.
#ifndef TRIREME_KERNELS_DEVICE_SMALL_GEMM_H_
#define TRIREME_KERNELS_DEVICE_SMALL_GEMM_H_

#include <cstdint>

#include "kernels/device/gemm.h"

namespace trireme {

// As Gemm (gemm.h), on the calling thread. At most one of a and b is transposed. A row of c
// depends on its row of a and on b alone, bit for bit: callers may cut rows as they like.
// `upcoming`: the b, laid out alike, of the product that this thread will probably compute next
// (null: unknown); it is fetched into the cache, nothing else.
void SmallGemm(const GemmShape& shape, const MatrixView& a, const MatrixView& b, float* c,
               int64_t ldc, bool add, const float* upcoming = nullptr);

}  // namespace trireme

#endif  // TRIREME_KERNELS_DEVICE_SMALL_GEMM_H_
