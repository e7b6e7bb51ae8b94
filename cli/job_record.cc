// One small file, replaced in one move.
#include "cli/job_record.h"

#include <filesystem>
#include <fstream>
#include <system_error>

#include "cli/job_file.h"
#include "common/config/parse.h"

namespace trireme {
namespace {

namespace fs = std::filesystem;

constexpr char kRecordName[] = "job.json";

}  // namespace

void RecordJob(const JobSpec& spec, const v1::Job& job) {
  std::error_code error;
  if (job.checkpoint_step() == 0 || !fs::is_directory(spec.checkpoint.path, error)) return;
  const fs::path path = fs::path(spec.checkpoint.path) / kRecordName;
  const fs::path part = path.string() + ".part";
  {
    std::ofstream file(part);
    file << JobToJson(spec);
    if (!file.flush()) return;
  }
  fs::rename(part, path, error);
}

StatusOr<JobSpec> RecordedJob(const std::string& checkpoint) {
  const fs::path folder = fs::path(checkpoint);
  for (const fs::path& path : {folder / kRecordName, folder / ".." / kRecordName}) {
    std::error_code error;
    if (!fs::is_regular_file(path, error)) continue;
    ASSIGN_OR_RETURN(const std::string text, ReadSmallFile(path.string()));
    return ParseJob(text, path.string());
  }
  return InvalidArgument("no job.json in " + checkpoint +
                         " or the folder above it, so the model is not known; name the job file "
                         "with --job");
}

}  // namespace trireme
