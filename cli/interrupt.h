// Ctrl-C as a call: while an Interrupt lives, SIGINT and SIGTERM do not end the program but run a handler on a thread
// of their own, so that jobs and processes can be stopped in order.
#ifndef TRIREME_CLI_INTERRUPT_H_
#define TRIREME_CLI_INTERRUPT_H_

#include <atomic>
#include <functional>
#include <thread>

namespace trireme {

// Make it before other threads are started: they inherit that the signals are blocked. A broken output pipe counts as
// an interrupt too (whoever prints calls Raise). One at a time.
class Interrupt {
 public:
  // `handler` gets 1 for the first signal, 2 for the second, ...
  explicit Interrupt(std::function<void(int count)> handler);
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  int count() const { return count_; }
  // As if a signal had come. Any thread.
  void Raise();

 private:
  void Loop();

  std::function<void(int)> handler_;
  int signal_fd_ = -1;
  int wake_fd_ = -1;
  std::atomic<int> count_{0};
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace trireme

#endif  // TRIREME_CLI_INTERRUPT_H_
