// Reference of fill: every element is the attribute value.
#include "kernels/ops/kernel.h"
#include "kernels/ops/reference_util.h"

namespace trireme {

void Reference_fill(const KernelArgs& args) {
  const double value = args.attrs.GetDouble("value");
  for (int64_t i = 0; i < args.out[0].count(); ++i) Store(args.out[0], i, value);
}

}  // namespace trireme
