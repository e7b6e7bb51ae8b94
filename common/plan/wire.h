// Programs as bytes: what the coordinator pushes and a rank receives. The only place where plain
// structs and their Protobuf twins (proto/trireme/v1/program.proto) meet; the same program always
// gives the same bytes.
#ifndef TRIREME_COMMON_PLAN_WIRE_H_
#define TRIREME_COMMON_PLAN_WIRE_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "common/plan/plan.h"
#include "common/plan/rank_program.h"

namespace trireme {

// Raised whenever the meaning of a field of program.proto changes.
inline constexpr int32_t kProgramFormat = 1;

// Serialized trireme.v1.RankProgram. No errors: what the compiler made can always be written.
std::string SerializeRankProgram(const RankProgram& program);
// The program of `stage` of a plan. Requires 0 <= stage < plan.num_stages().
std::string SerializeRankProgram(const Plan& plan, int stage);

// Parses and validates (validate.h), so that what is returned can be run without looking again.
// Errors: kFailedPrecondition naming both versions when format or op table differ from ours,
// kInvalidArgument for anything else.
StatusOr<RankProgram> ParseRankProgram(std::string_view bytes, uint64_t op_table_hash);

}  // namespace trireme

#endif  // TRIREME_COMMON_PLAN_WIRE_H_
