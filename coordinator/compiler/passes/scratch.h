// Places temporaries of straight-line code: two that are alive at once never overlap.
#ifndef TRIREME_COORDINATOR_COMPILER_PASSES_SCRATCH_H_
#define TRIREME_COORDINATOR_COMPILER_PASSES_SCRATCH_H_

#include <cstdint>
#include <vector>

namespace trireme {

inline constexpr int64_t kAlignment = 64;

// Alive from instruction `first` to `last`, both included.
struct Lifetime {
  int64_t bytes = 0;
  int first = 0;
  int last = 0;
};

struct ScratchLayout {
  std::vector<int64_t> offsets;  // one a lifetime, multiples of kAlignment
  int64_t bytes = 0;
};

// First fit, largest first (Pisarchyk & Lee 2020, arXiv:2001.03288, "greedy by size").
ScratchLayout LayOutScratch(const std::vector<Lifetime>& lifetimes);

}  // namespace trireme

#endif  // TRIREME_COORDINATOR_COMPILER_PASSES_SCRATCH_H_
