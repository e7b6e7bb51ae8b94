// The first message on every connection between ranks, and its answer. It proves the token and
// fences attempts.
#ifndef TRIREME_WORKER_COMM_HELLO_H_
#define TRIREME_WORKER_COMM_HELLO_H_

#include <cstdint>
#include <string>

#include "common/base/status.h"

namespace trireme {

enum class Channel : uint32_t { kData = 0, kAbort = 1 };

// As it stands on the wire.
struct Hello {
  char magic[8];
  int64_t attempt;
  int32_t from;  // rank
  int32_t to;
  int32_t size;  // ranks of the job
  Channel channel;
  uint32_t token_bytes;
  char token[128];
};

struct HelloReply {
  char magic[8];
  uint32_t accepted;  // 1 or 0
  char text[244];     // why not
};

// What a rank expects of those who call it.
struct HelloPolicy {
  int64_t attempt = 0;
  int32_t rank = 0;
  int32_t size = 0;
  std::string token;
};

Hello MakeHello(const HelloPolicy& own, int32_t to, Channel channel);

// OK, or kFailedPrecondition with the reason told to the caller: no Trireme rank, wrong token
// (checked first, nothing else is told without it), another attempt (with both numbers), wrong
// ranks.
Status CheckHello(const HelloPolicy& own, const Hello& hello);

HelloReply MakeReply(const Status& status);

// OK if accepted. Errors: kFailedPrecondition with the peer's reason.
Status CheckReply(const HelloReply& reply);

}  // namespace trireme

#endif  // TRIREME_WORKER_COMM_HELLO_H_
