// Blocking reads and writes of whole frames.
#include "worker/rank/frames.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace trireme {
namespace {

// Bytes read before the end of the stream; fewer than `bytes` only at the end.
StatusOr<size_t> ReadAll(int fd, char* data, size_t bytes) {
  size_t done = 0;
  while (done < bytes) {
    const ssize_t n = ::read(fd, data + done, bytes - done);
    if (n == 0) break;
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == ECONNRESET) break;  // the other side died with unread data
    if (n < 0) return Unavailable(std::string("reading a frame: ") + std::strerror(errno));
    done += static_cast<size_t>(n);
  }
  return done;
}

}  // namespace

Status WriteFrame(int fd, std::string_view bytes) {
  if (static_cast<int64_t>(bytes.size()) > kMaxFrameBytes) {
    return InvalidArgument("a frame of " + std::to_string(bytes.size()) +
                           " bytes exceeds the limit of " + std::to_string(kMaxFrameBytes));
  }
  std::string frame(4, '\0');
  for (int i = 0; i < 4; ++i) frame[i] = static_cast<char>(bytes.size() >> (8 * i) & 0xff);
  frame.append(bytes);
  for (size_t done = 0; done < frame.size();) {
    const ssize_t n = ::send(fd, frame.data() + done, frame.size() - done, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Unavailable(std::string("writing a frame: ") + std::strerror(errno));
    done += static_cast<size_t>(n);
  }
  return absl::OkStatus();
}

StatusOr<std::optional<std::string>> ReadFrame(int fd, int64_t max_bytes) {
  unsigned char header[4];
  ASSIGN_OR_RETURN(const size_t read, ReadAll(fd, reinterpret_cast<char*>(header), 4));
  if (read == 0) return std::nullopt;
  if (read < 4) return Unavailable("the stream ended inside the length of a frame");
  int64_t bytes = 0;
  for (int i = 0; i < 4; ++i) bytes |= static_cast<int64_t>(header[i]) << (8 * i);
  if (bytes > max_bytes) {
    return InvalidArgument("a frame of " + std::to_string(bytes) + " bytes exceeds the limit of " +
                           std::to_string(max_bytes));
  }
  std::string frame(static_cast<size_t>(bytes), '\0');
  ASSIGN_OR_RETURN(const size_t body, ReadAll(fd, frame.data(), frame.size()));
  if (body < frame.size()) return Unavailable("the stream ended inside a frame");
  return frame;
}

}  // namespace trireme
