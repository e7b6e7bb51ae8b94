// The magic carries the version of this protocol: change it when the messages of the communicator
// change.
#include "worker/comm/hello.h"

#include <string.h>

#include <algorithm>
#include <sstream>
#include <string>

#include "common/base/check.h"

namespace trireme {
namespace {

constexpr char kMagic[8] = {'T', 'R', 'I', 'M', 'C', 'O', 'M', '2'};

// Takes the same time wherever the first difference is.
bool SameToken(const Hello& hello, const std::string& token) {
  if (hello.token_bytes != token.size()) return false;
  unsigned char difference = 0;
  for (size_t i = 0; i < token.size(); ++i) difference |= hello.token[i] ^ token[i];
  return difference == 0;
}

}  // namespace

Hello MakeHello(const HelloPolicy& own, int32_t to, Channel channel) {
  CHECK(own.token.size() <= sizeof(Hello::token)) << own.token.size();
  Hello hello{};
  memcpy(hello.magic, kMagic, sizeof(kMagic));
  hello.attempt = own.attempt;
  hello.from = own.rank;
  hello.to = to;
  hello.size = own.size;
  hello.channel = channel;
  hello.token_bytes = static_cast<uint32_t>(own.token.size());
  memcpy(hello.token, own.token.data(), own.token.size());
  return hello;
}

Status CheckHello(const HelloPolicy& own, const Hello& hello) {
  if (memcmp(hello.magic, kMagic, sizeof(kMagic)) != 0) {
    return FailedPrecondition("the caller is no rank of this version of Trireme");
  }
  if (!SameToken(hello, own.token)) {
    return FailedPrecondition("wrong token; it changes with every attempt");
  }
  std::ostringstream out;
  if (hello.attempt != own.attempt) {
    const bool older = hello.attempt < own.attempt;
    out << "rank " << hello.from << " is of attempt " << hello.attempt << ", rank " << own.rank
        << " of attempt " << own.attempt << "; the " << (older ? "older" : "newer")
        << " one is refused";
    return FailedPrecondition(out.str());
  }
  if (hello.to != own.rank || hello.size != own.size || hello.from <= own.rank ||
      hello.from >= own.size || hello.channel > Channel::kAbort) {
    out << "rank " << hello.from << " of " << hello.size << " called rank " << hello.to
        << ", this is rank " << own.rank << " of " << own.size
        << "; higher ranks call lower ones of the same plan";
    return FailedPrecondition(out.str());
  }
  return {};
}

HelloReply MakeReply(const Status& status) {
  HelloReply reply{};
  memcpy(reply.magic, kMagic, sizeof(kMagic));
  reply.accepted = status.ok() ? 1 : 0;
  const std::string text(ToStd(status.message()));  // a view of nothing may have no address
  memcpy(reply.text, text.data(), std::min(text.size(), sizeof(reply.text) - 1));
  return reply;
}

Status CheckReply(const HelloReply& reply) {
  if (memcmp(reply.magic, kMagic, sizeof(kMagic)) != 0) {
    return FailedPrecondition("who answered is no rank of this version of Trireme");
  }
  if (reply.accepted == 1) return {};
  return FailedPrecondition(std::string(reply.text, strnlen(reply.text, sizeof(reply.text))));
}

}  // namespace trireme
