// Reference of copy: elements by strides on both sides, moved as bytes.
#include <cstring>

#include "kernels/ops/kernel.h"

namespace trireme {

void Reference_copy(const KernelArgs& args) {
  const Tensor& x = args.in[0];
  const Tensor& y = args.out[0];
  CHECK(x.sizes == y.sizes && x.dtype == y.dtype) << "copy between different shapes or types";
  const int64_t bytes = SizeOf(x.dtype);
  for (int64_t i = 0; i < x.count(); ++i) {
    int64_t rest = i, from = 0, to = 0;
    for (int d = x.rank() - 1; d >= 0; --d) {
      const int64_t index = rest % x.size(d);
      rest /= x.size(d);
      from += index * x.strides[d];
      to += index * y.strides[d];
    }
    std::memcpy(y.as<char>() + to * bytes, x.as<char>() + from * bytes, bytes);
  }
}

}  // namespace trireme
