// Non-blocking sockets and poll; every wait ends at its deadline.
#include "worker/comm/socket.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

namespace trireme {
namespace {

constexpr int kRetryMs = 20;

using AddressList = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

StatusOr<AddressList> Resolve(const std::string& address) {
  const size_t colon = address.rfind(':');
  if (colon == std::string::npos || colon == 0 || colon + 1 == address.size()) {
    return InvalidArgument("'" + address + "' is no address; write ip:port, such as 10.0.0.1:7000");
  }
  std::string host = address.substr(0, colon);
  if (host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* list = nullptr;
  const int error = getaddrinfo(host.c_str(), address.c_str() + colon + 1, &hints, &list);
  if (error != 0) return InvalidArgument("address '" + address + "': " + gai_strerror(error));
  return AddressList(list, freeaddrinfo);
}

// Waits until the socket is ready for `events`; false when the deadline comes first.
bool WaitFor(int fd, short events, Deadline deadline) {
  pollfd entry{fd, events, 0};
  return poll(&entry, 1, std::max(MillisecondsLeft(deadline), 1)) > 0;
}

// One try; the reason is in errno on failure.
OwnedFd DialOnce(const addrinfo& target, Deadline deadline) {
  OwnedFd fd(socket(target.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (fd.get() < 0) return OwnedFd();
  if (connect(fd.get(), target.ai_addr, target.ai_addrlen) == 0) return fd;
  if (errno != EINPROGRESS) return OwnedFd();
  if (!WaitFor(fd.get(), POLLOUT, deadline)) {
    errno = ETIMEDOUT;
    return OwnedFd();
  }
  int error = 0;
  socklen_t length = sizeof(error);
  getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &length);
  errno = error;
  return error == 0 ? std::move(fd) : OwnedFd();
}

bool WouldBlock() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

}  // namespace

OwnedFd::~OwnedFd() {
  if (fd_ >= 0) close(fd_);
}

int MillisecondsLeft(Deadline deadline) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
      deadline - std::chrono::steady_clock::now());
  return static_cast<int>(std::clamp<int64_t>(left.count(), 0, 1 << 30));
}

StatusOr<Listener> Listener::Bind(const std::string& address) {
  ASSIGN_OR_RETURN(const AddressList list, Resolve(address));
  OwnedFd fd(socket(list->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (fd.get() < 0 || bind(fd.get(), list->ai_addr, list->ai_addrlen) != 0 ||
      listen(fd.get(), SOMAXCONN) != 0) {
    return Unavailable("cannot listen on " + address + ": " + strerror(errno));
  }
  sockaddr_storage bound{};
  socklen_t length = sizeof(bound);
  getsockname(fd.get(), reinterpret_cast<sockaddr*>(&bound), &length);
  const int port =
      ntohs(bound.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&bound)->sin6_port
                                        : reinterpret_cast<sockaddr_in*>(&bound)->sin_port);
  return Listener(std::move(fd), port,
                  address.substr(0, address.rfind(':') + 1) + std::to_string(port));
}

OwnedFd Listener::TryAccept() {
  return OwnedFd(accept4(fd_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
}

StatusOr<OwnedFd> Dial(const std::string& address, Deadline deadline) {
  ASSIGN_OR_RETURN(const AddressList list, Resolve(address));
  for (;;) {
    OwnedFd fd = DialOnce(*list, deadline);
    if (fd.get() >= 0) return fd;
    const std::string reason = strerror(errno);
    const int left = MillisecondsLeft(deadline);
    if (left == 0) return Unavailable("cannot connect to " + address + ": " + reason);
    poll(nullptr, 0, std::min(left, kRetryMs));
  }
}

Status SendAll(int fd, const void* data, int64_t bytes, Deadline deadline) {
  const char* at = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t sent = send(fd, at, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && !WouldBlock()) return Unavailable(std::string("send: ") + strerror(errno));
    if (sent < 0) {
      if (MillisecondsLeft(deadline) == 0) return DeadlineExceeded("the peer does not read");
      WaitFor(fd, POLLOUT, deadline);
      continue;
    }
    at += sent;
    bytes -= sent;
  }
  return {};
}

Status RecvAll(int fd, void* data, int64_t bytes, Deadline deadline) {
  char* at = static_cast<char*>(data);
  while (bytes > 0) {
    const ssize_t got = recv(fd, at, bytes, MSG_DONTWAIT);
    if (got == 0) return Unavailable("the peer closed the connection");
    if (got < 0 && !WouldBlock()) return Unavailable(std::string("receive: ") + strerror(errno));
    if (got < 0) {
      if (MillisecondsLeft(deadline) == 0) return DeadlineExceeded("the peer does not answer");
      WaitFor(fd, POLLIN, deadline);
      continue;
    }
    at += got;
    bytes -= got;
  }
  return {};
}

}  // namespace trireme
