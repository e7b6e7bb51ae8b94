// A program started by ours, which never outlives it: the kernel stops it when we die.
#ifndef TRIREME_CLI_SUBPROCESS_H_
#define TRIREME_CLI_SUBPROCESS_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "common/base/status.h"

namespace trireme {

struct SubprocessOptions {
  std::string log_file;    // gets stdout and stderr; "" = they are ours
  bool log_errors = true;  // false: stderr stays ours
  bool own_group = true;   // Ctrl-C of the terminal does not reach it
};

class Subprocess {
 public:
  Subprocess() = default;
  // Stops it, hard after two seconds.
  ~Subprocess();
  Subprocess(Subprocess&& other) noexcept;
  Subprocess& operator=(Subprocess&& other) noexcept;

  // Call from a thread that lives as long as the process should. `program` is a path.
  // Errors: kInternal when it cannot be started.
  static StatusOr<Subprocess> Start(const std::string& program,
                                    const std::vector<std::string>& arguments,
                                    const SubprocessOptions& options);

  pid_t pid() const { return pid_; }
  bool running();                     // false once it has ended
  // Waits for the end: its exit code, or 128 + the signal that ended it.
  int Wait();
  // SIGTERM now; SIGKILL to its group when it is still there after `grace_ms`.
  void Stop(int grace_ms);
  void Signal(int signal);

 private:
  bool Reap(bool block);

  pid_t pid_ = -1;
  bool own_group_ = true;
  int exit_code_ = -1;
};

}  // namespace trireme

#endif  // TRIREME_CLI_SUBPROCESS_H_
