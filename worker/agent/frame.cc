// Lengths are read byte by byte, so the order of the machine does not matter.
#include "worker/agent/frame.h"

#include <cstdint>
#include <utility>

namespace trireme {

std::string Frame(std::string_view message) {
  std::string frame;
  frame.reserve(message.size() + 4);
  for (int shift = 0; shift < 32; shift += 8) {
    frame += static_cast<char>((message.size() >> shift) & 0xff);
  }
  frame += message;
  return frame;
}

Status FrameReader::Add(std::string_view bytes) {
  RETURN_IF_ERROR(status_);
  pending_ += bytes;
  size_t start = 0;
  while (pending_.size() - start >= 4) {
    size_t length = 0;
    for (int i = 3; i >= 0; --i) {
      length = length << 8 | static_cast<unsigned char>(pending_[start + i]);
    }
    if (length > kMaxRankMessageBytes) {
      status_ = InvalidArgument("a message of " + std::to_string(length) +
                                " bytes was announced; at most " +
                                std::to_string(kMaxRankMessageBytes) + " make sense");
      return status_;
    }
    if (pending_.size() - start - 4 < length) break;
    messages_.push_back(pending_.substr(start + 4, length));
    start += 4 + length;
  }
  pending_.erase(0, start);
  return absl::OkStatus();
}

std::vector<std::string> FrameReader::Take() { return std::exchange(messages_, {}); }

}  // namespace trireme
