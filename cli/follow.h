// Follows a job to its end: states with their reasons as narration, steps as data. Broken streams are resumed where
// they broke, so nothing is shown twice and nothing is lost.
#ifndef TRIREME_CLI_FOLLOW_H_
#define TRIREME_CLI_FOLLOW_H_

#include <functional>
#include <string>

#include "cli/client.h"
#include "cli/command.h"
#include "common/base/status.h"

namespace trireme {

struct FollowOptions {
  bool json = false;              // steps as JSON lines, else as progress lines
  std::function<void()> on_broken_output;  // nobody reads what we print any more
  int give_up_s = 60;             // without an answer for so long: an error
};

// Returns the job as it ended. Errors: kCancelled after client.CancelStreams; kUnavailable when the coordinator stays
// away; whatever it answers otherwise.
StatusOr<v1::Job> FollowJob(Client& client, const std::string& name, const FollowOptions& options,
                            Context& context);

// Prints how the job ended, for people; returns kExitOk when it succeeded, else kExitFailed.
int ReportEnd(const v1::Job& job, Context& context);

}  // namespace trireme

#endif  // TRIREME_CLI_FOLLOW_H_
