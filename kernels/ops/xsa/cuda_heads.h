// Which kv head serves a head, for the GPU kernels of xsa and xsa_grad. Shapes: R rows (batch,
// position), H heads, G kv heads, D head size.
#ifndef TRIREME_KERNELS_OPS_XSA_CUDA_HEADS_H_
#define TRIREME_KERNELS_OPS_XSA_CUDA_HEADS_H_

#include "kernels/device/cuda/cuda.h"
#include "kernels/ops/xsa/eps.h"

namespace trireme {

struct XsaHeads {
  int64_t rows, heads, kv_heads, size;
  int64_t query_group, head_start, kv_head_start;

  __host__ __device__ int64_t KvHead(int64_t head) const {
    return (head + head_start) / query_group - kv_head_start;
  }
};

// From y, input `y`, and v, the one after it.
inline XsaHeads MakeXsaHeads(const KernelArgs& args, int y) {
  const Tensor& of_y = args.in[y];
  const XsaHeads heads = {of_y.size(0) * of_y.size(1),
                          of_y.size(2),
                          args.in[y + 1].size(2),
                          of_y.size(3),
                          args.attrs.GetInt("query_group"),
                          args.attrs.GetInt("head_start", 0),
                          args.attrs.GetInt("kv_head_start", 0)};
  CHECK(heads.heads == 0 ||
        (heads.KvHead(0) >= 0 && heads.KvHead(heads.heads - 1) < heads.kv_heads))
      << "heads from " << heads.head_start << " need kv heads that are not here";
  return heads;
}

}  // namespace trireme

#endif  // TRIREME_KERNELS_OPS_XSA_CUDA_HEADS_H_
