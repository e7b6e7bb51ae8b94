// The callable side of an op: one function for the reference (double precision, plain loops: the
// specification) and one for each device.
#ifndef TRIREME_KERNELS_OPS_KERNEL_H_
#define TRIREME_KERNELS_OPS_KERNEL_H_

#include <string_view>
#include <vector>

#include "common/ir/attrs.h"
#include "kernels/device/tensor.h"

namespace trireme {

// Operands are dense unless the op says otherwise: those of copy,
// dot and accumulate may be strided views. `accumulate`: add into the outputs named
// by the rule's accumulating_outputs instead of overwriting them.
struct KernelArgs {
  Stream& stream;
  const Attrs& attrs;
  const std::vector<Tensor>& in;
  const std::vector<Tensor>& out;
  bool accumulate = false;
  void* workspace = nullptr;  // OpCost::workspace bytes, 64-byte aligned
};

using Kernel = void (*)(const KernelArgs& args);

struct OpKernels {
  Kernel reference = nullptr;
  Kernel cpu = nullptr;  // the reference where speed does not matter; both null for views
};

// CHECK-fails on an unknown name.
const OpKernels& FindKernels(std::string_view op);

}  // namespace trireme

#endif  // TRIREME_KERNELS_OPS_KERNEL_H_
