// oneDNN's sgemm takes its threads from OpenMP's setting for the calling thread.
#include "kernels/device/gemm.h"

#include <dnnl.h>
#include <omp.h>

#include <algorithm>

#include "common/base/check.h"

namespace trireme {

void Gemm(int num_threads, const GemmShape& shape, const MatrixView& a, const MatrixView& b,
          float* c, int64_t ldc, bool add) {
  if (shape.m == 0 || shape.n == 0) return;
  if (shape.k == 0) {
    for (int64_t r = 0; r < shape.m && !add; ++r) std::fill_n(c + r * ldc, shape.n, 0.0f);
    return;
  }
  if (omp_get_max_threads() != num_threads) omp_set_num_threads(num_threads);
  const dnnl_status_t status =
      dnnl_sgemm(a.transposed ? 'T' : 'N', b.transposed ? 'T' : 'N', shape.m, shape.n, shape.k,
                 1.0f, a.data, a.ld, b.data, b.ld, add ? 1.0f : 0.0f, c, ldc);
  CHECK(status == dnnl_success) << "dnnl_sgemm m=" << shape.m << " n=" << shape.n
                                << " k=" << shape.k << " lda=" << a.ld << " ldb=" << b.ld
                                << " ldc=" << ldc << " status=" << static_cast<int>(status);
}

}  // namespace trireme
