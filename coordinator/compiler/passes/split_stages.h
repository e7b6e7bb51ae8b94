// Which links of a model's chain each (virtual) stage runs.
#ifndef TRIREME_COORDINATOR_COMPILER_PASSES_SPLIT_STAGES_H_
#define TRIREME_COORDINATOR_COMPILER_PASSES_SPLIT_STAGES_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "coordinator/compiler/models/model.h"

namespace trireme {

// First and one past the last chain link of each of `num_stages` stages. `layers_per_stage` decides
// when it is not empty. Otherwise blocks are dealt so that the most expensive stage costs least,
// each stage having one at least; `costs` are by segment (any unit), empty = blocks cost 1 and
// embedding and head nothing. Ties go to the first stages.
// Errors: kInvalidArgument naming the numbers.
StatusOr<std::vector<std::pair<int, int>>> SplitStages(const Model& model, int64_t num_stages,
                                                       const std::vector<int64_t>& layers_per_stage,
                                                       const std::vector<double>& costs = {});

}  // namespace trireme

#endif  // TRIREME_COORDINATOR_COMPILER_PASSES_SPLIT_STAGES_H_
