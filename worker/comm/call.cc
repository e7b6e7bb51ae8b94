// Texts of calls for errors and for the flight recorder.
#include "worker/comm/call.h"

#include <sstream>

#include "common/sharding/sharding.h"
#include "common/tensor/dtype.h"

namespace trireme {

std::string_view Name(CommOp op) {
  switch (op) {
    case CommOp::kAllReduce:
      return "all_reduce";
    case CommOp::kAllGather:
      return "all_gather";
    case CommOp::kReduceScatter:
      return "reduce_scatter";
    case CommOp::kAllToAll:
      return "all_to_all";
    case CommOp::kExchange:
      return "exchange";
    case CommOp::kBarrier:
      return "barrier";
  }
  return "unknown";
}

std::string ShortText(const CallHeader& header) {
  std::ostringstream out;
  out << Name(header.op) << " #" << header.sequence;
  if (header.op == CommOp::kExchange) {
    out << " tag " << header.tag;
  } else {
    out << " of group " << header.group;
  }
  return out.str();
}

std::string ToText(const CallHeader& header) {
  std::ostringstream out;
  out << ShortText(header) << " (" << header.bytes << " bytes";
  const bool has_kind = header.kind <= static_cast<uint8_t>(ReduceKind::kMax);
  const bool has_dtype = header.dtype <= static_cast<uint8_t>(DType::kInt8);
  if (has_kind || has_dtype) out << ",";
  if (has_kind) out << (header.kind == static_cast<uint8_t>(ReduceKind::kSum) ? " sum" : " max");
  if (has_dtype) out << " " << Name(static_cast<DType>(header.dtype));
  out << ")";
  return out.str();
}

std::string RanksText(const std::vector<int32_t>& ranks) {
  std::ostringstream out;
  out << (ranks.size() == 1 ? "rank " : "ranks ");
  for (size_t i = 0; i < ranks.size(); ++i) out << (i == 0 ? "" : ",") << ranks[i];
  return out.str();
}

}  // namespace trireme
