// The rank's end of its control channel. After the start a thread of its own reads it, so that a
// daemon that dies ends the rank even when it is stuck in a collective.
#ifndef TRIREME_WORKER_RANK_CONTROL_H_
#define TRIREME_WORKER_RANK_CONTROL_H_

#include <atomic>
#include <functional>
#include <string>
#include <thread>

#include "common/base/status.h"
#include "trireme/v1/rank.pb.h"

namespace trireme {

class Control {
 public:
  // `fd` stays the caller's and must outlive this.
  explicit Control(int fd) : fd_(fd) {}
  ~Control();  // ends the reading thread
  Control(const Control&) = delete;
  Control& operator=(const Control&) = delete;

  // Waits for the next command. Errors: kAborted when the daemon is gone, kInvalidArgument on
  // anything that is no RankCommand.
  StatusOr<v1::RankCommand> Read();
  // Errors: kAborted when the daemon is gone.
  Status Send(const v1::RankEvent& event);

  // Reads on in the background: StopRank sets stop_requested(); when the daemon is gone, or says
  // anything else, `on_gone` is called once with the reason. Read() may not be called any more.
  void Watch(std::function<void(const std::string& reason)> on_gone);
  bool stop_requested() const { return stop_.load(); }

 private:
  void ReadOn();

  const int fd_;
  int wake_fds_[2] = {-1, -1};
  std::atomic<bool> stop_{false};
  std::function<void(const std::string&)> on_gone_;
  std::thread thread_;
};

}  // namespace trireme

#endif  // TRIREME_WORKER_RANK_CONTROL_H_
