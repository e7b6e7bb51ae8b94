// Messages on the socket pair between a worker daemon and a rank: 4 bytes of little-endian length,
// then one serialized message. This is the daemon's side; it never blocks on a rank that does not
// read.
#ifndef TRIREME_WORKER_AGENT_FRAME_H_
#define TRIREME_WORKER_AGENT_FRAME_H_

#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"

namespace trireme {

// A longer message is taken for garbage.
inline constexpr size_t kMaxRankMessageBytes = size_t{1} << 30;

// The message with its length in front.
std::string Frame(std::string_view message);

// Cuts a byte stream into messages.
class FrameReader {
 public:
  // Adds bytes as they come. Errors: kInvalidArgument for a length above kMaxRankMessageBytes; then
  // nothing more is accepted.
  Status Add(std::string_view bytes);
  // The whole messages that have come, in order, each once.
  std::vector<std::string> Take();

 private:
  std::string pending_;
  std::vector<std::string> messages_;
  Status status_;
};

}  // namespace trireme

#endif  // TRIREME_WORKER_AGENT_FRAME_H_
