// Runs a grid of GPU threads on the CPU, one fiber a thread, block after block: barriers, warp
// exchanges, and messages where real hardware would hang. The order in which warps get their turn
// is drawn from a seed, so that code which hangs on it shows.
#ifndef TRIREME_KERNELS_TESTING_SIMT_GRID_H_
#define TRIREME_KERNELS_TESTING_SIMT_GRID_H_

#include <cstddef>
#include <cstdint>
#include <functional>

namespace trireme::simt {

inline constexpr unsigned kWarpSize = 32;

struct Dim3 {
  unsigned x = 1, y = 1, z = 1;
  constexpr Dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
  constexpr unsigned count() const { return x * y * z; }
};

// Runs `body` once a thread. `shared_bytes` of dynamic shared memory start as 0xff in every block.
// CHECK-fails, naming the kernel, where threads wait for each other in vain, or leave while others
// stand at a barrier of the block.
void Launch(const char* kernel, Dim3 grid, Dim3 block, size_t shared_bytes,
            const std::function<void()>& body);

// The seed of the order of warps from now on.
void SetSeed(uint64_t seed);

// ---- of the running thread
const Dim3& ThreadIndex();
const Dim3& BlockIndex();
const Dim3& BlockSize();
const Dim3& GridSize();
unsigned Lane();
void* DynamicShared();

void SyncBlock();
void SyncWarp(unsigned mask);
// What lane `source` of the warp gave; every lane of `mask` must call it.
uint64_t Exchange(unsigned mask, uint64_t value, unsigned source);
// Bit i: lane i of `mask` gave true.
unsigned Ballot(unsigned mask, bool value);

}  // namespace trireme::simt

#endif  // TRIREME_KERNELS_TESTING_SIMT_GRID_H_
