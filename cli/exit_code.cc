// One switch, one text.
#include "cli/exit_code.h"

namespace trireme {

ExitCode ExitCodeOf(const Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return kExitOk;
    case absl::StatusCode::kInvalidArgument:
      return kExitUsage;
    case absl::StatusCode::kNotFound:
      return kExitNotFound;
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
      return kExitUnreachable;
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kAlreadyExists:
    case absl::StatusCode::kAborted:
      return kExitConflict;
    case absl::StatusCode::kResourceExhausted:
      return kExitDoesNotFit;
    default:
      return kExitFailed;
  }
}

std::string ExitCodeText() {
  return "  0    done\n"
         "  1    the job failed or was cancelled, or any other error\n"
         "  2    bad command line, job file or fleet file; nothing was created\n"
         "  3    no such job\n"
         "  5    no coordinator answers, or not in time\n"
         "  6    the job's state does not allow it, or versions differ\n"
         "  7    the job does not fit, or cannot be sharded so\n"
         "  130  interrupted with Ctrl-C\n";
}

}  // namespace trireme
