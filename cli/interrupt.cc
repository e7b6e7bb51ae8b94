// A thread waits on a signalfd and an eventfd.
#include "cli/interrupt.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "common/base/check.h"

namespace trireme {
namespace {

sigset_t InterruptSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  return signals;
}

}  // namespace

Interrupt::Interrupt(std::function<void(int)> handler) : handler_(std::move(handler)) {
  const sigset_t signals = InterruptSignals();
  CHECK_EQ(pthread_sigmask(SIG_BLOCK, &signals, nullptr), 0);
  signal_fd_ = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
  wake_fd_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  CHECK(signal_fd_ >= 0 && wake_fd_ >= 0) << "cannot watch signals";
  thread_ = std::thread([this] { Loop(); });
}

Interrupt::~Interrupt() {
  stopping_ = true;
  Raise();
  thread_.join();
  close(signal_fd_);
  close(wake_fd_);
  const sigset_t signals = InterruptSignals();
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
}

void Interrupt::Raise() {
  const uint64_t one = 1;
  const ssize_t written = write(wake_fd_, &one, sizeof(one));
  CHECK_EQ(written, static_cast<ssize_t>(sizeof(one)));
}

void Interrupt::Loop() {
  while (true) {
    pollfd waits[2] = {{signal_fd_, POLLIN, 0}, {wake_fd_, POLLIN, 0}};
    if (poll(waits, 2, -1) < 0) continue;  // only EINTR is possible
    if (stopping_) return;
    signalfd_siginfo info;
    uint64_t woken = 0;
    const bool signalled = read(signal_fd_, &info, sizeof(info)) == sizeof(info);
    const bool raised = read(wake_fd_, &woken, sizeof(woken)) == sizeof(woken);
    if (signalled || raised) handler_(++count_);
  }
}

}  // namespace trireme
