// The GPU kernels, compiled for the CPU: every cuda.cu against the words of simt/simt.h.
#ifndef TRIREME_KERNELS_TESTING_SIMT_KERNELS_H_
#define TRIREME_KERNELS_TESTING_SIMT_KERNELS_H_

#include <string_view>

#include "kernels/ops/kernel.h"

namespace trireme {

// Null where the op has no cuda.cu.
Kernel FindSimtKernel(std::string_view op);

}  // namespace trireme

#endif  // TRIREME_KERNELS_TESTING_SIMT_KERNELS_H_
