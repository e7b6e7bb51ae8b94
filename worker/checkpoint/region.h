// The part of a logical tensor that one rank holds: where it starts, how large it is in memory
// (padding included), and how much of it is real.
#ifndef TRIREME_WORKER_CHECKPOINT_REGION_H_
#define TRIREME_WORKER_CHECKPOINT_REGION_H_

#include <cstdint>
#include <vector>

#include "common/mesh/mesh.h"
#include "common/sharding/sharding.h"
#include "common/tensor/dim.h"

namespace trireme {

struct Region {
  std::vector<int64_t> start;  // first logical index of each dim
  std::vector<int64_t> local;  // sizes in memory
  std::vector<int64_t>
      size;  // of these, elements inside the logical tensor; any 0 = nothing is real

  bool empty() const;
  bool padded() const { return local != size; }
};

// For a region that is all padding along a dim, start is the logical size there.
Region RegionOf(const Mesh& mesh, const std::vector<Dim>& dims, const Sharding& sharding,
                int64_t rank);

// `local` elements to `size` elements and back (the rest is zero).
std::vector<float> CutPadding(const Region& region, const std::vector<float>& local);
std::vector<float> AddPadding(const Region& region, const std::vector<float>& real);

}  // namespace trireme

#endif  // TRIREME_WORKER_CHECKPOINT_REGION_H_
