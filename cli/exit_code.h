// What the programs' callers can rely on: the exit codes of `trireme`, and which error becomes which.
#ifndef TRIREME_CLI_EXIT_CODE_H_
#define TRIREME_CLI_EXIT_CODE_H_

#include <string>

#include "common/base/status.h"

namespace trireme {

enum ExitCode : int {
  kExitOk = 0,
  kExitFailed = 1,       // the job failed or was cancelled, or any other error
  kExitUsage = 2,        // bad command line, job file or fleet file; nothing was done
  kExitNotFound = 3,     // no such job
  kExitUnreachable = 5,  // no coordinator answers, or not in time
  kExitConflict = 6,     // the job is in a state that does not allow it, or versions differ
  kExitDoesNotFit = 7,   // the job does not fit, or cannot be sharded so
  kExitInterrupted = 130,  // Ctrl-C
};

// Errors of a request: kInvalidArgument is usage, kNotFound not found, and so on.
ExitCode ExitCodeOf(const Status& status);

// The list for `trireme help` and the README.
std::string ExitCodeText();

}  // namespace trireme

#endif  // TRIREME_CLI_EXIT_CODE_H_
