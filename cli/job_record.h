// A job's declaration beside its checkpoints, so that `trireme generate` knows the model of a checkpoint.
#ifndef TRIREME_CLI_JOB_RECORD_H_
#define TRIREME_CLI_JOB_RECORD_H_

#include <string>

#include "common/base/status.h"
#include "common/config/job_spec.h"
#include "trireme/v1/jobs.pb.h"

namespace trireme {

// Writes job.json into the folder of the job's checkpoints when one was committed and the folder is on this machine.
// What goes wrong is ignored: the job has run, and `generate --job` needs no record.
void RecordJob(const JobSpec& spec, const v1::Job& job);

// The spec recorded in `checkpoint` or the folder above it.
// Errors: kInvalidArgument saying where it looked and to use --job.
StatusOr<JobSpec> RecordedJob(const std::string& checkpoint);

}  // namespace trireme

#endif  // TRIREME_CLI_JOB_RECORD_H_
