// The collectives: which bytes go where. How they get there is in call_transfer.cc, waiting and
// failing in cpu_communicator_wait.cc.
#include "worker/comm/cpu_communicator.h"

#include <string.h>

#include <algorithm>
#include <set>
#include <sstream>
#include <utility>

#include "common/base/check.h"
#include "worker/comm/blocks.h"
#include "worker/comm/combine.h"

namespace trireme {
namespace {

char* At(void* data, int64_t element, int64_t size) {
  return static_cast<char*>(data) + element * size;
}

const char* At(const void* data, int64_t element, int64_t size) {
  return static_cast<const char*>(data) + element * size;
}

void Copy(void* to, const void* from, int64_t bytes) {
  if (to != from && bytes > 0) memcpy(to, from, bytes);
}

bool Overlap(const void* a, int64_t a_bytes, const void* b, int64_t b_bytes) {
  const auto* x = static_cast<const char*>(a);
  const auto* y = static_cast<const char*>(b);
  return x < y + b_bytes && y < x + a_bytes;
}

RingCall RingCallOf(const CallHeader& header, ReduceKind kind, const GroupRanks& group,
                    int64_t place) {
  return {header, static_cast<DType>(header.dtype), kind, group.ranks, place};
}

Status WrongCounts(CommOp op, const GroupRanks& group, int64_t in, int64_t out,
                   const std::string& rule) {
  std::ostringstream text;
  text << Name(op) << " of group " << group.id << " with " << group.ranks.size()
       << " members: in has " << in << " elements and out " << out << ", but " << rule;
  return InvalidArgument(text.str());
}

}  // namespace

CpuCommunicator::CpuCommunicator(CpuCommunicatorParts parts)
    : rank_(parts.rank),
      links_(std::move(parts.links)),
      routes_(parts.routes.empty() ? Routes(links_.size()) : std::move(parts.routes)),
      buckets_(std::move(parts.buckets)),
      segment_(std::move(parts.segment)),
      local_rank_(parts.local_rank),
      call_deadline_(parts.call_deadline),
      recorder_(parts.recorder),
      transfer_(rank_, &links_, &routes_),
      staging_(kSmallCallBytes),
      sent_to_(links_.size()),
      received_from_(links_.size()) {
  CHECK(rank_ >= 0 && rank_ < size()) << "rank " << rank_ << " of " << size();
  for (const auto& link : links_) has_sockets_ |= link != nullptr && link->poll_fd() >= 0;
}

CpuCommunicator::~CpuCommunicator() {
  if (segment_ != nullptr) segment_->Close(local_rank_);
}

StatusOr<int64_t> CpuCommunicator::PlaceIn(const GroupRanks& group) const {
  int64_t place = -1;
  std::set<int32_t> seen;
  for (size_t i = 0; i < group.ranks.size(); ++i) {
    const int32_t member = group.ranks[i];
    if (member < 0 || member >= size() || !seen.insert(member).second) {
      std::ostringstream out;
      out << "group " << group.id << " is " << RanksText(group.ranks) << "; member " << member
          << " must be in [0, " << size() << ") and occur once";
      return InvalidArgument(out.str());
    }
    if (member == rank_) place = static_cast<int64_t>(i);
  }
  if (place >= 0) return place;
  std::ostringstream out;
  out << "rank " << rank_ << " is not a member of group " << group.id << ": "
      << RanksText(group.ranks);
  return InvalidArgument(out.str());
}

CallHeader CpuCommunicator::NextCall(CommOp op, const GroupRanks& group, int64_t bytes) {
  CallHeader header;
  header.op = op;
  header.group = group.id;
  header.sequence = group_calls_[group.id]++;
  header.bytes = bytes;
  return header;
}

template <typename Body>
Status CpuCommunicator::RunCall(const CallHeader& header, Body body) {
  if (!broken_.ok()) return Annotate(broken_, "an earlier call failed");
  deadline_ = Clock::now() + call_deadline_;
  if (recorder_ != nullptr) recorder_->Start(header, WallClockNs());
  Status status = CheckAborted(/*look_at_links=*/true);
  if (status.ok()) status = body();
  if (recorder_ != nullptr) recorder_->Finish(status.ok(), WallClockNs());
  transfer_.Clear();
  if (!status.ok()) broken_ = status;
  return status;
}

Status CpuCommunicator::AllReduce(const GroupRanks& group, DType dtype, ReduceKind kind,
                                  Span data) {
  RETURN_IF_ERROR(CheckReducible(dtype));
  ASSIGN_OR_RETURN(const int64_t place, PlaceIn(group));
  const int64_t bytes = data.count * SizeOf(dtype);
  CallHeader header = NextCall(CommOp::kAllReduce, group, bytes);
  header.dtype = static_cast<uint8_t>(dtype);
  header.kind = static_cast<uint8_t>(kind);
  return RunCall(header, [&]() -> Status {
    if (group.ranks.size() == 1) return {};
    if (bytes <= kSmallCallBytes) return AllReduceSmall(group, header, kind, data);
    if (!GoesAround(group, bytes)) return AllReduceDirect(group, header, kind, data);
    const RingCall call = RingCallOf(header, kind, group, place);
    return Around(call, AllReduceRing(call, static_cast<char*>(data.data), data.count));
  });
}

// The input is staged because the result overwrites it while it may still be on its way to a slow
// peer.
Status CpuCommunicator::AllReduceSmall(const GroupRanks& group, const CallHeader& header,
                                       ReduceKind kind, Span data) {
  Copy(staging_.data(), data.data, header.bytes);
  for (const int32_t peer : group.ranks) {
    if (peer != rank_) transfer_.Send(peer, header, staging_.data(), header.bytes);
  }
  transfer_.Reduce({header, static_cast<DType>(header.dtype), kind, group.ranks, staging_.data(),
                    data.data, data.count});
  return ExchangeAll(header);
}

bool CpuCommunicator::GoesAround(const GroupRanks& group, int64_t bytes) const {
  if (bytes <= kSmallCallBytes) return false;
  return std::any_of(group.ranks.begin(), group.ranks.end(), [&](int32_t rank) {
    return routes_[rank].worker != routes_[group.ranks[0]].worker;
  });
}

// Beside the ring everybody says to everybody that it is there: the ring alone would tell only the
// next member who is missing or in another call.
Status CpuCommunicator::Around(const RingCall& call, Ring ring) {
  CallHeader here = call.header;
  here.tag = kTagHere;
  for (const int32_t peer : call.members) {
    if (peer == rank_) continue;
    if (peer != ring.next) transfer_.Send(peer, here, nullptr, 0);
    if (peer != ring.previous) transfer_.Receive(peer, here, nullptr, 0);
  }
  transfer_.RunRing(std::move(ring));
  return ExchangeAll(call.header);
}

Status CpuCommunicator::AllReduceDirect(const GroupRanks& group, const CallHeader& header,
                                        ReduceKind kind, Span data) {
  const DType dtype = static_cast<DType>(header.dtype);
  const int64_t size = SizeOf(dtype);
  const int64_t parts = static_cast<int64_t>(group.ranks.size());
  Block mine;
  int64_t place = 0;
  for (int64_t i = 0; i < parts; ++i) {
    const Block block = BlockOf(data.count, parts, i);
    if (group.ranks[i] == rank_) {
      mine = block;
      place = i;
    } else {
      transfer_.Send(group.ranks[i], header, At(data.data, block.begin, size), block.count * size);
    }
  }
  char* sum = At(data.data, mine.begin, size);
  transfer_.Reduce({header, dtype, kind, RingOrder(group.ranks, place), sum, sum, mine.count});
  RETURN_IF_ERROR(ExchangeAll(header));

  transfer_.Clear();
  CallHeader second = header;
  second.tag = kTagSum;
  for (int64_t i = 0; i < parts; ++i) {
    const int32_t peer = group.ranks[i];
    if (peer == rank_) continue;
    const Block block = BlockOf(data.count, parts, i);
    transfer_.Send(peer, second, sum, mine.count * size);
    transfer_.Receive(peer, second, At(data.data, block.begin, size), block.count * size);
  }
  return ExchangeAll(second);
}

Status CpuCommunicator::ReduceScatter(const GroupRanks& group, DType dtype, ReduceKind kind,
                                      ConstSpan in, Span out) {
  RETURN_IF_ERROR(CheckReducible(dtype));
  ASSIGN_OR_RETURN(const int64_t place, PlaceIn(group));
  const int64_t parts = static_cast<int64_t>(group.ranks.size());
  if (in.count != parts * out.count) {
    return WrongCounts(CommOp::kReduceScatter, group, in.count, out.count,
                       "in must be members * out");
  }
  const int64_t size = SizeOf(dtype);
  CallHeader header = NextCall(CommOp::kReduceScatter, group, in.count * size);
  header.dtype = static_cast<uint8_t>(dtype);
  header.kind = static_cast<uint8_t>(kind);
  return RunCall(header, [&]() -> Status {
    const char* own = At(in.data, place * out.count, size);
    if (parts == 1) {
      Copy(out.data, own, out.count * size);
      return {};
    }
    if (GoesAround(group, header.bytes)) {
      return ReduceScatterRingwise(RingCallOf(header, kind, group, place), in, out);
    }
    for (int64_t i = 0; i < parts; ++i) {
      if (i == place) continue;
      transfer_.Send(group.ranks[i], header, At(in.data, i * out.count, size), out.count * size);
    }
    transfer_.Reduce(
        {header, dtype, kind, RingOrder(group.ranks, place), own, out.data, out.count});
    return ExchangeAll(header);
  });
}

Status CpuCommunicator::ReduceScatterRingwise(const RingCall& call, ConstSpan in, Span out) {
  const int64_t bytes = out.count * SizeOf(call.dtype);
  char* to = static_cast<char*>(out.data);
  char* forward = to;
  if (Overlap(in.data, call.header.bytes, to, bytes)) {
    forward_.resize(std::max<size_t>(forward_.size(), bytes));
    forward = forward_.data();
  }
  return Around(call,
                ReduceScatterRing(call, static_cast<const char*>(in.data), out.count, forward, to));
}

Status CpuCommunicator::AllGather(const GroupRanks& group, DType dtype, ConstSpan in, Span out) {
  ASSIGN_OR_RETURN(const int64_t place, PlaceIn(group));
  const int64_t parts = static_cast<int64_t>(group.ranks.size());
  if (out.count != parts * in.count) {
    return WrongCounts(CommOp::kAllGather, group, in.count, out.count, "out must be members * in");
  }
  const int64_t size = SizeOf(dtype);
  CallHeader header = NextCall(CommOp::kAllGather, group, in.count * size);
  header.dtype = static_cast<uint8_t>(dtype);
  return RunCall(header, [&]() -> Status {
    Copy(At(out.data, place * in.count, size), in.data, in.count * size);
    if (parts == 1) return {};
    if (GoesAround(group, out.count * size)) {
      const RingCall call = RingCallOf(header, ReduceKind::kSum, group, place);
      return Around(call, AllGatherRing(call, static_cast<char*>(out.data), in.count));
    }
    for (int64_t i = 0; i < parts; ++i) {
      if (i == place) continue;
      transfer_.Send(group.ranks[i], header, in.data, in.count * size);
      transfer_.Receive(group.ranks[i], header, At(out.data, i * in.count, size), in.count * size);
    }
    return ExchangeAll(header);
  });
}

Status CpuCommunicator::AllToAll(const GroupRanks& group, DType dtype, ConstSpan in, Span out) {
  ASSIGN_OR_RETURN(const int64_t place, PlaceIn(group));
  const int64_t parts = static_cast<int64_t>(group.ranks.size());
  if (in.count != out.count || in.count % parts != 0) {
    return WrongCounts(CommOp::kAllToAll, group, in.count, out.count,
                       "they must be equal and a multiple of the members");
  }
  const int64_t size = SizeOf(dtype);
  const int64_t block = in.count / parts;
  CallHeader header = NextCall(CommOp::kAllToAll, group, in.count * size);
  header.dtype = static_cast<uint8_t>(dtype);
  return RunCall(header, [&]() -> Status {
    Copy(At(out.data, place * block, size), At(in.data, place * block, size), block * size);
    for (int64_t i = 0; i < parts; ++i) {
      if (i == place) continue;
      transfer_.Send(group.ranks[i], header, At(in.data, i * block, size), block * size);
      transfer_.Receive(group.ranks[i], header, At(out.data, i * block, size), block * size);
    }
    return ExchangeAll(header);
  });
}

Status CpuCommunicator::Barrier(const GroupRanks& group) {
  RETURN_IF_ERROR(PlaceIn(group).status());
  const CallHeader header = NextCall(CommOp::kBarrier, group, 0);
  return RunCall(header, [&]() -> Status {
    for (const int32_t peer : group.ranks) {
      if (peer == rank_) continue;
      transfer_.Send(peer, header, nullptr, 0);
      transfer_.Receive(peer, header, nullptr, 0);
    }
    return ExchangeAll(header);
  });
}

Status CpuCommunicator::Exchange(const std::vector<PeerMessage>& sends,
                                 const std::vector<PeerMessage>& receives) {
  std::vector<PeerMessage> to_self, from_self;
  int64_t bytes = 0;
  for (const auto* messages : {&sends, &receives}) {
    for (const PeerMessage& m : *messages) {
      if (m.peer < 0 || m.peer >= size() || m.bytes < 0) {
        std::ostringstream out;
        out << "exchange message of " << m.bytes << " bytes with rank " << m.peer << " tag "
            << m.tag << ": there are " << size() << " ranks";
        return InvalidArgument(out.str());
      }
      if (m.peer == rank_) (messages == &sends ? to_self : from_self).push_back(m);
      if (messages == &sends) bytes += m.bytes;
    }
  }
  const auto same = [](const PeerMessage& a, const PeerMessage& b) {
    return a.tag == b.tag && a.bytes == b.bytes;
  };
  if (!std::equal(to_self.begin(), to_self.end(), from_self.begin(), from_self.end(), same)) {
    std::ostringstream out;
    out << "exchange: the messages of rank " << rank_ << " to itself and from itself differ in "
        << "number, tag or bytes";
    return InvalidArgument(out.str());
  }
  CallHeader header;
  header.op = CommOp::kExchange;
  header.sequence = num_exchanges_++;
  header.bytes = bytes;
  return RunCall(header, [&]() -> Status {
    for (size_t i = 0; i < to_self.size(); ++i) {
      Copy(from_self[i].data, to_self[i].data, to_self[i].bytes);
    }
    return SendAndReceive(header, sends, receives);
  });
}

Status CpuCommunicator::SendAndReceive(const CallHeader& call,
                                       const std::vector<PeerMessage>& sends,
                                       const std::vector<PeerMessage>& receives) {
  const auto header_of = [](const PeerMessage& m, std::vector<uint64_t>* counts) {
    CallHeader header;
    header.op = CommOp::kExchange;
    header.tag = m.tag;
    header.sequence = (*counts)[m.peer]++;
    header.bytes = m.bytes;
    return header;
  };
  for (const PeerMessage& m : sends) {
    if (m.peer != rank_) transfer_.Send(m.peer, header_of(m, &sent_to_), m.data, m.bytes);
  }
  for (const PeerMessage& m : receives) {
    if (m.peer == rank_) continue;
    transfer_.Receive(m.peer, header_of(m, &received_from_), m.data, m.bytes);
  }
  return ExchangeAll(call);
}

void CpuCommunicator::SetProgress(int64_t step, int32_t item, int32_t instruction) {
  if (recorder_ != nullptr) recorder_->SetProgress({step, item, instruction});
}

}  // namespace trireme
