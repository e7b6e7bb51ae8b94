// Grows a thread's buffers in powers of two, so that a sequence of growing requests costs little.
#include "kernels/device/scratch.h"

#include <array>
#include <bit>
#include <cstdlib>
#include <memory>

#include "common/base/check.h"

namespace trireme {
namespace {

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};

struct Buffer {
  std::unique_ptr<void, Free> memory;
  int64_t bytes = 0;
};

}  // namespace

void* ThreadScratch(ScratchSlot slot, int64_t bytes) {
  static thread_local std::array<Buffer, static_cast<size_t>(ScratchSlot::kCount)> buffers;
  Buffer& buffer = buffers[static_cast<size_t>(slot)];
  if (buffer.bytes < bytes) {
    const uint64_t rounded = std::bit_ceil(static_cast<uint64_t>(bytes < 4096 ? 4096 : bytes));
    buffer.memory.reset();
    buffer.memory.reset(std::aligned_alloc(64, rounded));
    CHECK(buffer.memory != nullptr) << "no memory for " << rounded << " bytes of kernel scratch";
    buffer.bytes = static_cast<int64_t>(rounded);
  }
  return buffer.memory.get();
}

}  // namespace trireme
