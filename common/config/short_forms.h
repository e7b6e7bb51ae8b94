// Short forms of the job file: keys that stand for entries of the mesh section (ZeRO stages, modes
// of tensor and context parallelism). The parser writes those entries, so that everything after it
// reads mesh and mapping alone; an entry that the job gives itself is never overwritten.
#ifndef TRIREME_COMMON_CONFIG_SHORT_FORMS_H_
#define TRIREME_COMMON_CONFIG_SHORT_FORMS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "common/base/status.h"
#include "common/config/checks.h"
#include "common/config/job_spec.h"

namespace trireme {

// Values of keys that no JobSpec holds, because all they mean is in what they write.
struct ShortForms {
  std::optional<int64_t> zero_stage;  // 0, 1 or 3
  std::optional<bool> zero_prefetch;
  std::optional<bool> zero_reshard_after_forward;
};

// Writes what `forms` and the modes in `spec` stand for into spec->mesh:
//   zero.stage 0: embed null for parameters and optimizer; 1: null and data; 3: data for both
//   zero.reshard_after_forward: mesh.gather; zero.prefetch: mesh.prefetch
//   tensor_parallel.mode reduce_scatter: residual/position to the axes of mlp (else of heads),
//     after those of position that the mesh has
//   context_parallel.mode ring: attention/key_position to the axes of position that the mesh has
// Doing it again to its own result changes nothing. Errors: kInvalidArgument with both keys where
// a short form contradicts what the job says in the mesh section.
Status ApplyShortForms(const ShortForms& forms, const IsGivenKey& given, const LocateKey& locate,
                       JobSpec* spec);

}  // namespace trireme

#endif  // TRIREME_COMMON_CONFIG_SHORT_FORMS_H_
