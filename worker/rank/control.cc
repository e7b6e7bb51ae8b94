// The thread sleeps in poll on the channel and on a pipe that the destructor closes.
#include "worker/rank/control.h"

#include <poll.h>
#include <unistd.h>

#include <optional>
#include <utility>

#include "common/base/check.h"
#include "worker/rank/frames.h"

namespace trireme {

Control::~Control() {
  if (wake_fds_[1] >= 0) ::close(wake_fds_[1]);
  if (thread_.joinable()) thread_.join();
  if (wake_fds_[0] >= 0) ::close(wake_fds_[0]);
}

StatusOr<v1::RankCommand> Control::Read() {
  ASSIGN_OR_RETURN(const std::optional<std::string> frame, ReadFrame(fd_));
  if (!frame) return Aborted("the worker daemon closed the control channel");
  v1::RankCommand command;
  if (!command.ParseFromString(*frame)) {
    return InvalidArgument("a frame of " + std::to_string(frame->size()) +
                           " bytes is no RankCommand");
  }
  return command;
}

Status Control::Send(const v1::RankEvent& event) {
  const Status status = WriteFrame(fd_, event.SerializeAsString());
  if (status.ok()) return status;
  return Aborted("the worker daemon is gone: " + std::string(status.message()));
}

void Control::Watch(std::function<void(const std::string&)> on_gone) {
  CHECK(!thread_.joinable()) << "watched twice";
  on_gone_ = std::move(on_gone);
  CHECK(::pipe(wake_fds_) == 0) << "no pipe";
  thread_ = std::thread([this] { ReadOn(); });
}

void Control::ReadOn() {
  for (;;) {
    pollfd fds[2] = {{fd_, POLLIN, 0}, {wake_fds_[0], POLLIN, 0}};
    if (::poll(fds, 2, -1) < 0) continue;  // interrupted
    if (fds[1].revents != 0) return;
    const StatusOr<v1::RankCommand> command = Read();
    if (!command.ok()) return on_gone_(std::string(command.status().message()));
    if (!command->has_stop()) return on_gone_("a command that is not StopRank while running");
    stop_.store(true);
  }
}

}  // namespace trireme
