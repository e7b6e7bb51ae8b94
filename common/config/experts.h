// What architectures with experts take for granted, and what their keys demand of each other.
#ifndef TRIREME_COMMON_CONFIG_EXPERTS_H_
#define TRIREME_COMMON_CONFIG_EXPERTS_H_

#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/config/checks.h"
#include "common/config/job_spec.h"

namespace trireme {

// Values of model.type whose blocks have experts.
const std::vector<std::string>& ExpertTypes();

// Fills what is not `given` with the architecture's defaults: counts and coefficients of experts,
// grug_moe's window, multiplier, rank and initializer_range. experts.width of a mixtral becomes its
// intermediate_size; experts.shared_width of a deepseek_moe, which holds n_shared_experts until
// then, becomes a width: call it once. A dense type is left alone.
void FillExperts(const IsGivenKey& given, ModelSpec* model);

// Errors: kInvalidArgument when a token goes to more experts than there are, no block has experts,
// or balance groups do not divide the batch.
Status CheckExperts(const JobSpec& spec, const LocateKey& locate);

}  // namespace trireme

#endif  // TRIREME_COMMON_CONFIG_EXPERTS_H_
