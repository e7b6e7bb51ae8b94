// Byte ranges of what is in flight against byte ranges of what comes next. A strided view counts
// from its first to its last byte.
#include "common/plan/hazards.h"

#include <algorithm>

namespace trireme {
namespace {

struct Range {
  int64_t begin = 0;
  int64_t end = 0;
  bool Meets(const Range& other) const { return begin < other.end && other.begin < end; }
};

Range RangeOf(const StageProgram& program, const ResolvedOperand& operand) {
  int64_t last = 0;
  for (size_t i = 0; i < operand.sizes.size(); ++i) {
    if (operand.sizes[i] == 0) return {};
    last += (operand.sizes[i] - 1) * operand.strides[i];
  }
  const int64_t begin = ArenaOffset(program, operand, 0);
  return {begin, begin + (last + 1) * SizeOf(operand.dtype)};
}

struct Access {
  std::vector<Range> reads;
  std::vector<Range> writes;
};

Access AccessOf(const StageProgram& program, const ResolvedInstruction& instruction) {
  Access access;
  for (const ResolvedOperand& in : instruction.in) access.reads.push_back(RangeOf(program, in));
  for (const ResolvedOperand& in : instruction.predicate) {
    access.reads.push_back(RangeOf(program, in));
  }
  for (const ResolvedOperand& out : instruction.out) access.writes.push_back(RangeOf(program, out));
  return access;
}

bool AnyMeet(const std::vector<Range>& a, const std::vector<Range>& b) {
  return std::any_of(a.begin(), a.end(), [&](const Range& x) {
    return std::any_of(b.begin(), b.end(), [&](const Range& y) { return x.Meets(y); });
  });
}

bool Conflict(const Access& flying, const Access& next) {
  return AnyMeet(flying.writes, next.reads) || AnyMeet(flying.writes, next.writes) ||
         AnyMeet(flying.reads, next.writes);
}

}  // namespace

std::vector<int32_t> FindWaits(const StageProgram& program,
                               const std::vector<ResolvedInstruction>& instructions) {
  std::vector<int32_t> waits;
  std::vector<Access> flying;  // async collectives after the first `done`
  int32_t done = 0;
  for (const ResolvedInstruction& instruction : instructions) {
    const bool collective = IsCollective(instruction.source->op);
    if (instruction.source->async) {
      flying.push_back(AccessOf(program, instruction));
      waits.push_back(0);
      continue;
    }
    if (flying.empty()) {
      waits.push_back(0);
      continue;
    }
    const Access access = AccessOf(program, instruction);
    int32_t needed = 0;
    for (int32_t i = static_cast<int32_t>(flying.size()); i > 0 && needed == 0; --i) {
      if (collective || Conflict(flying[i - 1], access)) needed = i;
    }
    waits.push_back(needed == 0 ? 0 : done + needed);
    flying.erase(flying.begin(), flying.begin() + needed);
    done += needed;
  }
  return waits;
}

}  // namespace trireme
