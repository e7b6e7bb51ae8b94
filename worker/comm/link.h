// An ordered, reliable, non-blocking byte pipe between this rank and one peer, both directions.
// Shared memory inside a worker (shm_link.h), TCP between workers (tcp_link.h); the communicator
// does not know which.
#ifndef TRIREME_WORKER_COMM_LINK_H_
#define TRIREME_WORKER_COMM_LINK_H_

#include <sys/uio.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/status.h"

namespace trireme {

class Link {
 public:
  virtual ~Link() = default;

  // Takes a prefix of the bytes of `parts` (gathered in order); they may be overwritten afterwards.
  // Returns how many bytes were taken, 0 when the pipe is full. Errors: kUnavailable when the peer
  // is gone, naming it.
  virtual StatusOr<int64_t> TrySend(const iovec* parts, int num_parts) = 0;

  // Fills a prefix of `parts` with the next bytes; returns how many, 0 when none are there. Errors:
  // kUnavailable when the peer is gone and everything it sent has been read.
  virtual StatusOr<int64_t> TryRecv(const iovec* parts, int num_parts) = 0;

  // To poll for POLLIN and POLLOUT; -1 if there is none (the shared segment's doorbell wakes
  // instead).
  virtual int poll_fd() const { return -1; }

  // Becomes readable when the peer aborts; -1 if there is none or the peer closed it.
  virtual int abort_fd() const { return -1; }

  // Tells the peer that this rank aborts, and ends the pipe. Thread-safe against everything but the
  // destructor.
  virtual void SendAbort(const std::string& reason) {}

  // The reason the peer gave when it aborted, waiting up to `wait_ms` for it; nothing if it gave
  // none.
  virtual std::optional<std::string> ReadAbort(int wait_ms) { return std::nullopt; }
};

// Index = rank; this rank's own entry is null.
using Links = std::vector<std::unique_ptr<Link>>;

}  // namespace trireme

#endif  // TRIREME_WORKER_COMM_LINK_H_
