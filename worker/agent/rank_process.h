// One rank as a process of its own: started by exec of this program, spoken to over a socket pair,
// watched until it has ended. What it writes to standard error is passed on line by line.
#ifndef TRIREME_WORKER_AGENT_RANK_PROCESS_H_
#define TRIREME_WORKER_AGENT_RANK_PROCESS_H_

#include <sys/types.h>

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "common/base/status.h"
#include "trireme/v1/rank.pb.h"

namespace trireme {

// "exited with code 3", "was killed by signal 9 (Killed)".
std::string DescribeExit(int wait_status);

class RankProcess {
 public:
  // Called on the process's own thread, in order; `exited` is the last.
  struct Callbacks {
    std::function<void(const v1::RankEvent&)> event;
    std::function<void(const std::string&)> line;  // of standard error
    std::function<void(int wait_status)> exited;
  };

  // Runs `command` with "{fd}" in its arguments replaced by the number of the socket. The process
  // gets its own process group, so that a terminal's Ctrl-C reaches the daemon only. Errors:
  // kUnavailable when no process can be started.
  static StatusOr<std::unique_ptr<RankProcess>> Start(const std::vector<std::string>& command,
                                                      Callbacks callbacks);
  // Kills it if it still runs, and waits for its end.
  ~RankProcess();
  RankProcess(const RankProcess&) = delete;
  RankProcess& operator=(const RankProcess&) = delete;

  pid_t pid() const { return pid_; }
  // Queues a command; never blocks. No effect once the process has ended.
  void Send(const v1::RankCommand& command);
  void Kill(int signal);

 private:
  RankProcess(pid_t pid, int socket, int errors, int wake, Callbacks callbacks);

  void Loop();
  bool ReadSocket();   // false: the end
  bool ReadErrors();   // false: the end
  bool WriteSocket();  // false: it broke
  void TakeCommands();

  const pid_t pid_;
  int socket_;  // -1 = closed; used by the thread only
  int errors_;
  const int wake_;  // eventfd: commands wait
  const Callbacks callbacks_;

  std::mutex mutex_;
  std::deque<std::string> commands_ ABSL_GUARDED_BY(mutex_);
  bool reaped_ ABSL_GUARDED_BY(mutex_) = false;

  std::string writing_;  // by the thread only, like what follows
  std::string line_;
  struct Reader;
  std::unique_ptr<Reader> reader_;
  std::thread thread_;
};

}  // namespace trireme

#endif  // TRIREME_WORKER_AGENT_RANK_PROCESS_H_
