// a * b; b is repeated over a's leading dims, or over the last ones.
#include "kernels/device/cuda/broadcast.h"

namespace trireme {
namespace {

struct Times {
  __device__ __forceinline__ float operator()(float a, float b) const { return a * b; }
};

}  // namespace

void Cuda_mul(const KernelArgs& args) {
  Broadcast(args, Times{}, args.attrs.GetInt("leading", 0) != 0);
}

}  // namespace trireme
