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

// Whether the job gives the key at `path`.
using IsGivenKey = std::function<bool(const std::string& path)>;

// Fills what the architecture and other keys decide, once: intermediate_size, num_key_value_heads,
// head_dim (0 = not given), and what is not `given` of tie_word_embeddings, initializer_range and
// the experts' keys (see experts.h). Errors: kInvalidArgument when intermediate_size is needed and
// missing or hidden_size does not divide by the heads.
Status FillDerivedKeys(const LocateKey& locate, const IsGivenKey& given, JobSpec* spec);

// Errors: kInvalidArgument with the place, the path, both values and what would work.
Status CheckJob(const JobSpec& spec, const LocateKey& locate);

}  // namespace trireme

#endif  // TRIREME_COMMON_CONFIG_CHECKS_H_
