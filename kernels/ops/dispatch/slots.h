// One wave of dispatch_plan's source, and the same read the other way round: which slot holds an
// assignment.
#ifndef TRIREME_KERNELS_OPS_DISPATCH_SLOTS_H_
#define TRIREME_KERNELS_OPS_DISPATCH_SLOTS_H_

#include <vector>

#include "kernels/device/tensor.h"

namespace trireme {

// The assignment (token * k + choice) in each flat slot (shard by shard), -1 where it is empty.
struct WaveSource {
  const int32_t* assignments = nullptr;
  int64_t slots = 0;
};

// Wave `wave` of source:int32[wave,shard,slot].
inline WaveSource SourceOfWave(const Tensor& source, int64_t wave) {
  const int64_t slots = source.size(1) * source.size(2);
  return {source.i32() + wave * slots, slots};
}

// For each of `num_assignments` the flat slot that holds it, or -1: it was dropped, is in another
// wave, or its expert is elsewhere.
inline std::vector<int32_t> SlotOfAssignment(const WaveSource& source, int64_t num_assignments) {
  std::vector<int32_t> slots(num_assignments, -1);
  for (int64_t slot = 0; slot < source.slots; ++slot) {
    const int32_t assignment = source.assignments[slot];
    if (assignment >= 0) slots[assignment] = static_cast<int32_t>(slot);
  }
  return slots;
}

}  // namespace trireme

#endif  // TRIREME_KERNELS_OPS_DISPATCH_SLOTS_H_
