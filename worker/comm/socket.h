// TCP sockets with deadlines, for the bootstrap: a listener, dialling, and whole messages.
#ifndef TRIREME_WORKER_COMM_SOCKET_H_
#define TRIREME_WORKER_COMM_SOCKET_H_

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

#include "common/base/status.h"

namespace trireme {

using Deadline = std::chrono::steady_clock::time_point;

// A file descriptor with an owner; -1 is none.
class OwnedFd {
 public:
  OwnedFd() = default;
  explicit OwnedFd(int fd) : fd_(fd) {}
  OwnedFd(OwnedFd&& other) noexcept : fd_(other.release()) {}
  OwnedFd& operator=(OwnedFd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~OwnedFd();

  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_ = -1;
};

// Accepts the peers of one attempt. Bound before addresses are handed out, so that nobody is ever
// refused for coming early; destroyed after Connect, when all have come.
class Listener {
 public:
  // `address` is "ip:port"; port 0 takes a free one. Errors: kInvalidArgument, kUnavailable if it
  // cannot be bound.
  static StatusOr<Listener> Bind(const std::string& address = "127.0.0.1:0");

  int port() const { return port_; }
  // "ip:port" with the real port.
  const std::string& address() const { return address_; }
  int fd() const { return fd_.get(); }
  // A connection if one waits, with no descriptor otherwise. Non-blocking.
  OwnedFd TryAccept();

 private:
  Listener(OwnedFd fd, int port, std::string address)
      : fd_(std::move(fd)), port_(port), address_(std::move(address)) {}
  OwnedFd fd_;
  int port_;
  std::string address_;
};

// A non-blocking connection to "ip:port" (or "name:port"). Tries again until the deadline while
// nobody listens. Errors: kInvalidArgument for the address; kUnavailable with the last reason.
StatusOr<OwnedFd> Dial(const std::string& address, Deadline deadline);

// All `bytes` over a non-blocking socket. Errors: kDeadlineExceeded, kUnavailable.
Status SendAll(int fd, const void* data, int64_t bytes, Deadline deadline);
Status RecvAll(int fd, void* data, int64_t bytes, Deadline deadline);

// Whole milliseconds until the deadline, at least 0, for poll.
int MillisecondsLeft(Deadline deadline);

}  // namespace trireme

#endif  // TRIREME_WORKER_COMM_SOCKET_H_
