// A StageProgram seen from one rank: index maps evaluated, groups listed as ranks, operands as
// (pool, byte offset). The executor and the lockstep interpreter both run this form, so neither can
// disagree with the other about addresses.
#ifndef TRIREME_COMMON_PLAN_RESOLVE_H_
#define TRIREME_COMMON_PLAN_RESOLVE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "common/mesh/mesh.h"
#include "common/plan/program.h"

namespace trireme {

struct ResolvedOperand {
  Pool pool = Pool::kScratch;
  int64_t byte_offset = 0;  // within the pool (of slot 0)
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;
  DType dtype = DType::kFloat32;
};

struct ResolvedInstruction {
  const Instruction* source = nullptr;  // borrowed from the StageProgram
  Attrs attrs;                          // with index attributes filled in
  std::vector<ResolvedOperand> in;
  std::vector<ResolvedOperand> out;
  std::vector<ResolvedOperand> predicate;  // as in Instruction
  std::vector<int32_t> group;  // ranks in group order; empty for kernels
};

// All instructions of the instances of `phase` (of `chunk`, for the phases of a microbatch), in
// order. `program` must outlive the result.
std::vector<ResolvedInstruction> Resolve(const StageProgram& program, Phase phase, int chunk,
                                         const Mesh& mesh, int64_t rank);

// How many ranks a group has.
int64_t GroupSize(const Group& group, const Mesh& mesh);

// Ranks of `group` that contain `rank`, in group order.
std::vector<int32_t> GroupRanksOf(const Group& group, const Mesh& mesh, int64_t rank);

// Byte offset of an operand in the arena when microbatch data is in `slot`.
int64_t ArenaOffset(const StageProgram& program, const ResolvedOperand& operand, int slot);
int64_t ArenaOffset(const StageProgram& program, const Place& place, int slot);

}  // namespace trireme

#endif  // TRIREME_COMMON_PLAN_RESOLVE_H_
