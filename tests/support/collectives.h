// Collectives on the buffers of all members at once, adding in the order that
// worker/comm/communicator.h documents: what the communicators must equal.
#ifndef TRIREME_TESTS_SUPPORT_COLLECTIVES_H_
#define TRIREME_TESTS_SUPPORT_COLLECTIVES_H_

#include <cstddef>
#include <string>
#include <vector>

#include "common/tensor/dtype.h"

namespace trireme {

struct CollectiveBuffers {
  const std::byte* in = nullptr;
  int64_t in_count = 0;
  std::byte* out = nullptr;
  int64_t out_count = 0;
};

// `op` is an IR collective, `kind` "sum" or "max"; `members` in group order. CHECK-fails on counts
// that do not fit.
void RunCollective(const std::string& op, const std::string& kind, DType dtype,
                   const std::vector<CollectiveBuffers>& members);

}  // namespace trireme

#endif  // TRIREME_TESTS_SUPPORT_COLLECTIVES_H_
