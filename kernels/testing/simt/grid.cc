// A block is a set of fibers; each runs until it stands at a barrier. A barrier opens when all it
// waits for have come.
#include "kernels/testing/simt/grid.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "common/base/check.h"
#include "common/base/math.h"
#include "kernels/testing/simt/fiber.h"

namespace trireme::simt {
namespace {

enum class State : uint8_t { kReady, kAtBlock, kAtWarp, kDone };

struct Thread {
  Fiber fiber;
  State state = State::kDone;
  Dim3 index;
  unsigned mask = 0;                               // of the warp barrier it stands at
  uint64_t exchanged = 0;                          // what it gives to other lanes
  unsigned block_barriers = 0, warp_barriers = 0;  // that it has come to
};

struct Block {
  std::vector<std::unique_ptr<Thread>> threads;
  unsigned size = 0;
  unsigned running = 0;
  const std::function<void()>* body = nullptr;
  const char* kernel = "";
  Dim3 index, dims, grid;
  std::vector<char> shared;
  uint64_t seed = 1;
  // What the thread sanitizer orders threads by: begin, end, and two in turn for barriers, so that
  // what a thread does between two of them is in no order with what others do there. Lanes that
  // leave out barriers of their warp (masks) would take the wrong turn.
  char begin = 0, end = 0;
  char at_block[2] = {};
  std::vector<std::array<char, 2>> at_warp;
};

thread_local Block block;

Thread& Running() { return *block.threads[block.running]; }

void RunBody() {
  Running().fiber.Entered();
  Acquire(&block.begin);
  (*block.body)();
  Release(&block.end);
  Thread& thread = Running();
  thread.state = State::kDone;
  thread.fiber.Yield(/*done=*/true);
}

void Wait(State state) {
  Thread& thread = Running();
  thread.state = state;
  thread.fiber.Yield();
}

unsigned Count(State state) {
  unsigned count = 0;
  for (unsigned i = 0; i < block.size; ++i) count += block.threads[i]->state == state;
  return count;
}

// Lets each thread that can go on run until it stands. Warps get their turn in a drawn order.
bool RunReady() {
  const unsigned warps = (block.size + kWarpSize - 1) / kWarpSize;
  std::vector<unsigned> order(warps);
  for (unsigned w = 0; w < warps; ++w) order[w] = w;
  for (unsigned w = warps; w > 1; --w) {
    block.seed = Mix64(block.seed);
    std::swap(order[w - 1], order[block.seed % w]);
  }
  bool any = false;
  for (const unsigned warp : order) {
    for (unsigned i = warp * kWarpSize; i < std::min(block.size, (warp + 1) * kWarpSize); ++i) {
      if (block.threads[i]->state != State::kReady) continue;
      any = true;
      block.running = i;
      block.threads[i]->fiber.Resume();
    }
  }
  return any;
}

// Opens warp barriers at which all lanes of the mask stand.
bool OpenWarps() {
  bool any = false;
  for (unsigned first = 0; first < block.size; first += kWarpSize) {
    const unsigned lanes = std::min(kWarpSize, block.size - first);
    const unsigned present = lanes == kWarpSize ? ~0u : (1u << lanes) - 1;
    unsigned standing = 0;
    for (unsigned i = 0; i < lanes; ++i) {
      if (block.threads[first + i]->state == State::kAtWarp) standing |= 1u << i;
    }
    for (unsigned i = 0; i < lanes; ++i) {
      Thread& thread = *block.threads[first + i];
      const unsigned mask = thread.mask & present;
      if (thread.state != State::kAtWarp || (standing & mask) != mask) continue;
      for (unsigned j = 0; j < lanes; ++j) {
        if (mask >> j & 1) block.threads[first + j]->state = State::kReady;
      }
      standing &= ~mask;
      any = true;
    }
  }
  return any;
}

void RunBlock() {
  for (unsigned i = 0; i < block.size; ++i) {
    Thread& thread = *block.threads[i];
    thread.state = State::kReady;
    thread.block_barriers = thread.warp_barriers = 0;
    thread.index = {i % block.dims.x, i / block.dims.x % block.dims.y,
                    i / (block.dims.x * block.dims.y)};
    thread.fiber.Start(RunBody);
  }
  while (true) {
    const bool ran = RunReady();
    if (OpenWarps() || ran) continue;
    const unsigned at_block = Count(State::kAtBlock);
    const unsigned done = Count(State::kDone);
    if (done == block.size) return;
    CHECK_EQ(at_block, block.size)
        << "kernel " << block.kernel << ": " << at_block << " threads stand at a barrier of the "
        << "block, " << Count(State::kAtWarp) << " at one of their warp, " << done
        << " are done: they wait for ever";
    for (unsigned i = 0; i < block.size; ++i) block.threads[i]->state = State::kReady;
  }
}

}  // namespace

void Launch(const char* kernel, Dim3 grid, Dim3 dims, size_t shared_bytes,
            const std::function<void()>& body) {
  block.size = dims.count();
  CHECK(block.size >= 1 && block.size <= 1024) << kernel << ": " << block.size << " threads";
  while (block.threads.size() < block.size) block.threads.push_back(std::make_unique<Thread>());
  block.body = &body;
  block.kernel = kernel;
  block.dims = dims;
  block.grid = grid;
  block.shared.resize(shared_bytes + 64);
  block.at_warp.assign((block.size + kWarpSize - 1) / kWarpSize, {});
  for (unsigned z = 0; z < grid.z; ++z) {
    for (unsigned y = 0; y < grid.y; ++y) {
      for (unsigned x = 0; x < grid.x; ++x) {
        block.index = {x, y, z};
        std::memset(block.shared.data(), 0xff, block.shared.size());
        Release(&block.begin);
        RunBlock();
        Acquire(&block.end);
      }
    }
  }
}

void SetSeed(uint64_t seed) { block.seed = seed; }

const Dim3& ThreadIndex() { return Running().index; }
const Dim3& BlockIndex() { return block.index; }
const Dim3& BlockSize() { return block.dims; }
const Dim3& GridSize() { return block.grid; }
unsigned Lane() { return block.running % kWarpSize; }

void* DynamicShared() {
  const auto address = reinterpret_cast<uintptr_t>(block.shared.data());
  return reinterpret_cast<void*>(RoundUp(static_cast<int64_t>(address), 64));
}

void SyncBlock() {
  char* order = &block.at_block[Running().block_barriers++ % 2];
  Release(order);
  Wait(State::kAtBlock);
  Acquire(order);
}

void SyncWarp(unsigned mask) {
  Thread& thread = Running();
  char* order = &block.at_warp[block.running / kWarpSize][thread.warp_barriers++ % 2];
  Release(order);
  thread.mask = mask;
  Wait(State::kAtWarp);
  Acquire(order);
}

uint64_t Exchange(unsigned mask, uint64_t value, unsigned source) {
  const unsigned first = block.running / kWarpSize * kWarpSize;
  Running().exchanged = value;
  SyncWarp(mask);
  const unsigned from = first + source % kWarpSize;
  const uint64_t got = from < block.size ? block.threads[from]->exchanged : value;
  SyncWarp(mask);  // nobody overwrites what others have not read
  return got;
}

unsigned Ballot(unsigned mask, bool value) {
  const unsigned first = block.running / kWarpSize * kWarpSize;
  Running().exchanged = value;
  SyncWarp(mask);
  unsigned bits = 0;
  for (unsigned i = 0; i < kWarpSize && first + i < block.size; ++i) {
    if ((mask >> i & 1) && block.threads[first + i]->exchanged != 0) bits |= 1u << i;
  }
  SyncWarp(mask);
  return bits;
}

}  // namespace trireme::simt
