// Messages over the socket pair between a worker daemon and a rank: a 4-byte little-endian length,
// then the bytes.
#ifndef TRIREME_WORKER_RANK_FRAMES_H_
#define TRIREME_WORKER_RANK_FRAMES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/status.h"

namespace trireme {

inline constexpr int64_t kMaxFrameBytes = int64_t{1} << 30;

// Writes one whole frame, waiting as long as the other side needs. Never raises SIGPIPE.
// Errors: kInvalidArgument beyond kMaxFrameBytes; kUnavailable when the other side is gone.
Status WriteFrame(int fd, std::string_view bytes);

// Reads one whole frame; nullopt when the other side closed between frames.
// Errors: kInvalidArgument when the length exceeds `max_bytes`; kUnavailable when it closed inside
// a frame.
StatusOr<std::optional<std::string>> ReadFrame(int fd, int64_t max_bytes = kMaxFrameBytes);

}  // namespace trireme

#endif  // TRIREME_WORKER_RANK_FRAMES_H_
