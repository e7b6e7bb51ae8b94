// A link through two rings of the worker's shared segment, one each way. The index of the other
// side is cached, so a busy pipe touches the peer's cache line only when it looks empty or full.
#ifndef TRIREME_WORKER_COMM_SHM_LINK_H_
#define TRIREME_WORKER_COMM_SHM_LINK_H_

#include <cstdint>

#include "common/base/status.h"
#include "worker/comm/link.h"
#include "worker/comm/shared_segment.h"

namespace trireme {

class ShmLink final : public Link {
 public:
  // `self` and `peer` are local ranks of the segment, `peer_rank` the global rank for messages. The
  // segment must outlive the link. At most one link a pair and direction in use at a time.
  ShmLink(SharedSegment* segment, int32_t self, int32_t peer, int32_t peer_rank);

  StatusOr<int64_t> TrySend(const iovec* parts, int num_parts) override;
  StatusOr<int64_t> TryRecv(const iovec* parts, int num_parts) override;

 private:
  Status PeerClosed() const;

  SharedSegment* segment_;
  int32_t peer_;
  int32_t peer_rank_;
  uint64_t capacity_;
  ShmRing* out_;
  ShmRing* in_;
  char* out_data_;
  const char* in_data_;
  uint64_t out_head_, out_tail_;  // own index and the last seen one of the peer
  uint64_t in_head_, in_tail_;
};

}  // namespace trireme

#endif  // TRIREME_WORKER_COMM_SHM_LINK_H_
