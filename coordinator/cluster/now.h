// Time as pure code sees it: given by the caller, never read from a clock.
#ifndef TRIREME_COORDINATOR_CLUSTER_NOW_H_
#define TRIREME_COORDINATOR_CLUSTER_NOW_H_

#include <cstdint>

namespace trireme {

struct Now {
  int64_t mono_ms = 0;  // monotonic: for leases and deadlines
  int64_t wall_ms = 0;  // since the Unix epoch: for people
};

}  // namespace trireme

#endif  // TRIREME_COORDINATOR_CLUSTER_NOW_H_
