// The names of communicator calls and the header that travels in front of every message, so that
// two ranks in different calls get an error that names both calls instead of wrong numbers.
#ifndef TRIREME_WORKER_COMM_CALL_H_
#define TRIREME_WORKER_COMM_CALL_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace trireme {

enum class CommOp : uint16_t {
  kAllReduce = 1,
  kAllGather = 2,
  kReduceScatter = 3,
  kAllToAll = 4,
  kExchange = 5,
  kBarrier = 6,
};

// "all_reduce", "all_gather", ...; "unknown" for a number that is no op.
std::string_view Name(CommOp op);

inline constexpr uint32_t kCallMagic = 0x54524d43;  // "TRMC"
inline constexpr uint8_t kNone = 0xff;
inline constexpr int32_t kNoGroup = -1;

// Messages of a collective: data (to be added); sums of a direct all_reduce; an empty message to
// those whose data does not come directly, so that a missing rank is known to all.
inline constexpr int32_t kTagData = 0;
inline constexpr int32_t kTagSum = 1;
inline constexpr int32_t kTagHere = 2;

// What one message belongs to. Sender and receiver build it on their own; all fields must agree.
// `bytes` is the size of the call's input on one rank (of the message for exchange), not of this
// message: all other sizes follow from it.
struct CallHeader {
  uint32_t magic = kCallMagic;
  CommOp op = CommOp::kBarrier;
  uint8_t dtype = kNone;
  uint8_t kind = kNone;  // ReduceKind
  int32_t group = kNoGroup;
  int32_t tag = 0;        // exchange: the tag; otherwise one of kTag...
  uint64_t sequence = 0;  // calls of this group (exchange: messages of this pair) before this one
  int64_t bytes = 0;
  bool operator==(const CallHeader&) const = default;
};
static_assert(sizeof(CallHeader) == 32, "the header is a wire format");

// "all_reduce #17 of group 3", "exchange #4 tag 7".
std::string ShortText(const CallHeader& header);

// "all_reduce #17 of group 3 (4096 bytes, sum float32)".
std::string ToText(const CallHeader& header);

// "rank 2" or "ranks 2,3".
std::string RanksText(const std::vector<int32_t>& ranks);

}  // namespace trireme

#endif  // TRIREME_WORKER_COMM_CALL_H_
