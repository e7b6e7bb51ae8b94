// Abort message: 4 bytes of length (little end first on all machines we run on), then the reason.
#include "worker/comm/tcp_link.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <sstream>

namespace trireme {
namespace {

constexpr size_t kMaxReasonBytes = 1024;

void Prepare(int fd) {
  fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

bool WouldBlock() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

}  // namespace

TcpLink::TcpLink(int data_fd, int abort_fd, int32_t peer_rank)
    : data_fd_(data_fd), abort_fd_(abort_fd), peer_rank_(peer_rank) {
  Prepare(data_fd_);
  Prepare(abort_fd_);
}

TcpLink::~TcpLink() {
  close(data_fd_);
  close(abort_fd_);
}

Status TcpLink::Lost(const std::string& why) const {
  std::ostringstream out;
  out << "the connection to rank " << peer_rank_ << " is lost (" << why
      << "): its process or host is gone";
  return Unavailable(out.str());
}

StatusOr<int64_t> TcpLink::TrySend(const iovec* parts, int num_parts) {
  msghdr message{};
  message.msg_iov = const_cast<iovec*>(parts);
  message.msg_iovlen = num_parts;
  const ssize_t sent = sendmsg(data_fd_, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent >= 0) return static_cast<int64_t>(sent);
  if (WouldBlock()) return 0;
  return Lost(strerror(errno));
}

StatusOr<int64_t> TcpLink::TryRecv(const iovec* parts, int num_parts) {
  msghdr message{};
  message.msg_iov = const_cast<iovec*>(parts);
  message.msg_iovlen = num_parts;
  const ssize_t got = recvmsg(data_fd_, &message, MSG_DONTWAIT);
  if (got > 0) return static_cast<int64_t>(got);
  if (got == 0) return Lost("closed by the peer");
  if (WouldBlock()) return 0;
  return Lost(strerror(errno));
}

void TcpLink::SendAbort(const std::string& reason) {
  const uint32_t length = static_cast<uint32_t>(std::min(reason.size(), kMaxReasonBytes));
  std::string message(reinterpret_cast<const char*>(&length), sizeof(length));
  message.append(reason, 0, length);
  // The connection was silent until now, so its buffer has room for this one message. If the peer
  // is gone there is nobody to tell.
  (void)!send(abort_fd_, message.data(), message.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  shutdown(data_fd_, SHUT_RDWR);
}

std::optional<std::string> TcpLink::ReadAbort(int wait_ms) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::milliseconds(wait_ms);
  while (!abort_closed_) {
    char buffer[kMaxReasonBytes + sizeof(uint32_t)];
    const ssize_t got = recv(abort_fd_, buffer, sizeof(buffer), MSG_DONTWAIT);
    if (got > 0) {
      abort_text_.append(buffer, got);
    } else if (got == 0 || !WouldBlock()) {
      abort_closed_ = true;
    }
    uint32_t length = 0;
    if (abort_text_.size() >= sizeof(length)) {
      memcpy(&length, abort_text_.data(), sizeof(length));
      if (length > kMaxReasonBytes) return "(unreadable reason)";
      if (abort_text_.size() >= sizeof(length) + length) {
        return abort_text_.substr(sizeof(length), length);
      }
    }
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
    if (abort_closed_ || left.count() <= 0) break;
    pollfd entry{abort_fd_, POLLIN, 0};
    poll(&entry, 1, static_cast<int>(left.count()));
  }
  return std::nullopt;
}

}  // namespace trireme
