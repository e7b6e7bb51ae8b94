// Scratch memory that kernels keep between calls: one growing buffer for each thread and purpose.
// It is bounded by the tile sizes of the kernels (tens of MiB) and is part of the reserve that a
// plan declares for library workspace, so no op counts it in OpCost::workspace.
#ifndef TRIREME_KERNELS_DEVICE_SCRATCH_H_
#define TRIREME_KERNELS_DEVICE_SCRATCH_H_

#include <cstdint>

namespace trireme {

// Buffers that may be in use at the same time in one thread.
enum class ScratchSlot : uint8_t { kTile, kSecondTile, kRows, kPackA, kPackB, kPackOut, kCount };

// At least `bytes` bytes, 64-byte aligned, uninitialised; valid until this thread asks for a larger
// buffer of the slot.
void* ThreadScratch(ScratchSlot slot, int64_t bytes);

// `count` elements of T, as above.
template <typename T>
T* ThreadScratchOf(ScratchSlot slot, int64_t count) {
  return static_cast<T*>(ThreadScratch(slot, count * static_cast<int64_t>(sizeof(T))));
}

}  // namespace trireme

#endif  // TRIREME_KERNELS_DEVICE_SCRATCH_H_
