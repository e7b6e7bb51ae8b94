// Reads and checks files that the user names, before anything else happens.
#ifndef TRIREME_CLI_JOB_FILE_H_
#define TRIREME_CLI_JOB_FILE_H_

#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/config/fleet.h"
#include "common/config/job_spec.h"

namespace trireme {

// The bytes of a file of at most 1 MiB. Errors: kInvalidArgument with the path and the reason.
StatusOr<std::string> ReadSmallFile(const std::string& path);

// Parses the job with its overrides; relative data and checkpoint paths become absolute, starting at `folder`, so that
// workers and a later resume see the same files. Errors: kInvalidArgument as ParseJob's.
StatusOr<JobSpec> LoadJob(const std::string& path, const std::vector<std::string>& overrides,
                          const std::string& folder);

// Errors: kInvalidArgument naming the first training file that cannot be read here.
Status CheckDataFiles(const JobSpec& spec, const std::string& path);

// A fleet file, or the fleet itself when the text starts with '{'.
StatusOr<Topology> LoadFleet(const std::string& path_or_text);

// CPU devices of a throwaway cluster: `hosts` workers named host-0, ... spread evenly over `slices`.
// Errors: kInvalidArgument when slices does not divide hosts.
StatusOr<Topology> LocalTopology(int64_t hosts, int64_t devices_per_host, int64_t slices);

// Devices that the sizes written in the job need at least: the product of axes that are not -1.
int64_t DevicesOfMesh(const JobSpec& spec);

}  // namespace trireme

#endif  // TRIREME_CLI_JOB_FILE_H_
