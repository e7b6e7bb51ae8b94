// Job file (YAML or JSON) -> JobSpec, with one table of keys: it parses, applies defaults and
// overrides, checks ranges, and writes the reference page.
#ifndef TRIREME_COMMON_CONFIG_PARSE_H_
#define TRIREME_COMMON_CONFIG_PARSE_H_

#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/config/job_spec.h"

namespace trireme {

// Parses `text`, called `file` in messages. Each override is "path.to.key=value" (value in YAML)
// and wins over the file. Relative data and checkpoint paths stay as written. Errors:
// kInvalidArgument, one line: "job.yaml:7: train.steps: expected a whole number >= 1, got \"ten\"".
// Unknown and repeated keys (with the nearest known key), wrong types, impossible sizes, aliases
// (refused: they can explode), documents over 1 MiB or nested deeper than 32.
StatusOr<JobSpec> ParseJob(std::string_view text, std::string_view file,
                           const std::vector<std::string>& overrides = {});

// Canonical JSON with every key written out, but for short forms (zero), which stand in what they
// wrote; ParseJob(JobToJson(s)) equals s.
std::string JobToJson(const JobSpec& spec);

// Markdown reference of every key: type, default, meaning.
std::string JobReferencePage();

}  // namespace trireme

#endif  // TRIREME_COMMON_CONFIG_PARSE_H_
