// What one key of a job demands of another: sizes that divide, lengths that fit, shares that add
// up.
#ifndef TRIREME_COMMON_CONFIG_CHECKS_H_
#define TRIREME_COMMON_CONFIG_CHECKS_H_

#include <functional>
#include <string>

#include "common/base/status.h"
#include "common/config/job_spec.h"

namespace trireme {

// Where a key, or the section that lacks it, is written: "job.yaml:7".
using LocateKey = std::function<std::string(const std::string& path)>;

// Fills what other keys decide: intermediate_size, num_key_value_heads, head_dim (0 = not given)
// and, unless `tie_given`, tie_word_embeddings. Errors: kInvalidArgument when a llama has no
// intermediate_size or hidden_size does not divide by the heads.
Status FillDerivedKeys(const LocateKey& locate, bool tie_given, JobSpec* spec);

// Errors: kInvalidArgument with the place, the path, both values and what would work.
Status CheckJob(const JobSpec& spec, const LocateKey& locate);

}  // namespace trireme

#endif  // TRIREME_COMMON_CONFIG_CHECKS_H_
