// A program's phases as calls that only need to be made: kernels looked up, tensors and groups
// built, addresses fixed.
#ifndef TRIREME_WORKER_EXECUTOR_CALLS_H_
#define TRIREME_WORKER_EXECUTOR_CALLS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/plan/rank_program.h"
#include "kernels/ops/kernel.h"
#include "worker/comm/communicator.h"

namespace trireme {

enum class CallKind : uint8_t {
  kKernel,
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kAllToAll,
  kPermute
};

struct Call {
  CallKind kind = CallKind::kKernel;
  Kernel kernel = nullptr;
  Attrs attrs;
  std::vector<Tensor> in;
  std::vector<Tensor> out;
  bool accumulate = false;
  void* workspace = nullptr;
  GroupRanks group;
  ReduceKind reduce = ReduceKind::kSum;
  bool async = false;
  // The call is made only where the number there is more than `above`; null: always.
  const int32_t* predicate = nullptr;
  int32_t above = 0;
  int32_t wait = 0;  // async collectives of the list that must be over first (hazards.h)
  // kPermute: ranks that this one sends to and receives from.
  int32_t to = 0;
  int32_t from = 0;
  // For messages.
  const SegmentCode* code = nullptr;  // borrowed from the program
  int32_t index = 0;                  // of the instruction in `code`
  int32_t layer = -1;
};

// The calls of `phase` of `chunk` for microbatch data in `slot`. `program` must outlive the result.
// Errors: kInvalidArgument naming an op that this binary does not have.
StatusOr<std::vector<Call>> BuildCalls(const RankProgram& program, Phase phase, int chunk, int slot,
                                       int64_t rank, char* arena);

// The messages of one exchange: edges to the rank with the same coordinates on the peer stage, in
// edge order.
struct ExchangeCall {
  std::vector<PeerMessage> sends;
  std::vector<PeerMessage> receives;
};
ExchangeCall BuildExchange(const RankProgram& program, const ScheduleItem& item, int64_t rank,
                           char* arena);

// "block.F layer 3 #17 all_gather of model.layers.3.mlp.up".
std::string ToText(const Call& call);

}  // namespace trireme

#endif  // TRIREME_WORKER_EXECUTOR_CALLS_H_
