// The index of dispatch read the other way round: which slot holds an assignment.
#ifndef TRIREME_KERNELS_OPS_DISPATCH_SLOTS_H_
#define TRIREME_KERNELS_OPS_DISPATCH_SLOTS_H_

#include <vector>

#include "kernels/device/tensor.h"

namespace trireme {

// For each of `num_assignments` (token * k + choice) the flat local slot (expert * capacity + slot)
// that holds it, or -1: it was dropped or its expert is elsewhere. `index` is dispatch's.
inline std::vector<int64_t> SlotOfAssignment(const Tensor& index, int64_t num_assignments) {
  std::vector<int64_t> slots(num_assignments, -1);
  const int32_t* assignment = index.i32();
  for (int64_t slot = 0; slot < index.count(); ++slot) {
    if (assignment[slot] >= 0) slots[assignment[slot]] = slot;
  }
  return slots;
}

}  // namespace trireme

#endif  // TRIREME_KERNELS_OPS_DISPATCH_SLOTS_H_
