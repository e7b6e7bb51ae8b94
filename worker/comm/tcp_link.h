// A link over two TCP connections to the same peer: one for the data, one that stays silent until a
// side aborts and says why. With one connection the reason would have to wait behind a full data
// pipe.
#ifndef TRIREME_WORKER_COMM_TCP_LINK_H_
#define TRIREME_WORKER_COMM_TCP_LINK_H_

#include <cstdint>
#include <optional>
#include <string>

#include "common/base/status.h"
#include "worker/comm/link.h"

namespace trireme {

class TcpLink final : public Link {
 public:
  // Owns both connected sockets and makes them non-blocking, without delay for small messages.
  TcpLink(int data_fd, int abort_fd, int32_t peer_rank);
  ~TcpLink() override;

  StatusOr<int64_t> TrySend(const iovec* parts, int num_parts) override;
  StatusOr<int64_t> TryRecv(const iovec* parts, int num_parts) override;
  int poll_fd() const override { return data_fd_; }
  int abort_fd() const override { return abort_closed_ ? -1 : abort_fd_; }
  void SendAbort(const std::string& reason) override;
  std::optional<std::string> ReadAbort(int wait_ms) override;

 private:
  Status Lost(const std::string& why) const;

  int data_fd_;
  int abort_fd_;
  int32_t peer_rank_;
  bool abort_closed_ = false;
  std::string abort_text_;  // bytes of the abort message so far
};

}  // namespace trireme

#endif  // TRIREME_WORKER_COMM_TCP_LINK_H_
