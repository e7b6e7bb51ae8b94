// fork and exec: posix_spawn cannot ask for the parent-death signal.
#include "cli/subprocess.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace trireme {
namespace {

constexpr int kExecFailed = 127;

// In the child: only calls that are safe after fork.
[[noreturn]] void RunChild(const char* program, char* const* arguments, int log_fd,
                           const SubprocessOptions& options, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(kExecFailed);
  if (options.own_group) setpgid(0, 0);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  signal(SIGPIPE, SIG_DFL);
  if (log_fd >= 0) {
    dup2(log_fd, STDOUT_FILENO);
    if (options.log_errors) dup2(log_fd, STDERR_FILENO);
  }
  if (options.own_group) {
    const int null_fd = open("/dev/null", O_RDONLY);
    if (null_fd >= 0) dup2(null_fd, STDIN_FILENO);
  }
  execv(program, arguments);
  _exit(kExecFailed);
}

// Waits until the process has ended, at most `timeout_ms`; without reaping it.
bool WaitForEnd(pid_t pid, int timeout_ms) {
  const int fd = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  if (fd < 0) return true;
  pollfd wait{fd, POLLIN, 0};
  const int ready = poll(&wait, 1, timeout_ms);
  close(fd);
  return ready > 0;
}

}  // namespace

Subprocess::~Subprocess() {
  if (pid_ > 0) Stop(2000);
}

Subprocess::Subprocess(Subprocess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      own_group_(other.own_group_),
      exit_code_(other.exit_code_) {}

Subprocess& Subprocess::operator=(Subprocess&& other) noexcept {
  if (this != &other) {
    if (pid_ > 0) Stop(2000);
    pid_ = std::exchange(other.pid_, -1);
    own_group_ = other.own_group_;
    exit_code_ = other.exit_code_;
  }
  return *this;
}

StatusOr<Subprocess> Subprocess::Start(const std::string& program,
                                       const std::vector<std::string>& arguments,
                                       const SubprocessOptions& options) {
  if (access(program.c_str(), X_OK) != 0) {
    return Internal(program + " is not a program that can be started: " + std::strerror(errno));
  }
  std::vector<char*> argv{const_cast<char*>(program.c_str())};
  for (const std::string& one : arguments) argv.push_back(const_cast<char*>(one.c_str()));
  argv.push_back(nullptr);
  int log_fd = -1;
  if (!options.log_file.empty()) {
    log_fd = open(options.log_file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (log_fd < 0) return Internal(options.log_file + ": " + std::strerror(errno));
  }
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid == 0) RunChild(program.c_str(), argv.data(), log_fd, options, parent);
  if (log_fd >= 0) close(log_fd);
  if (pid < 0) return Internal("cannot start " + program + ": " + std::strerror(errno));
  if (options.own_group) setpgid(pid, pid);
  Subprocess process;
  process.pid_ = pid;
  process.own_group_ = options.own_group;
  return process;
}

bool Subprocess::Reap(bool block) {
  if (pid_ <= 0) return true;
  int status = 0;
  pid_t done = 0;
  do {
    done = waitpid(pid_, &status, block ? 0 : WNOHANG);
  } while (done < 0 && errno == EINTR);
  if (done == 0) return false;
  if (done > 0) exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  pid_ = -1;
  return true;
}

bool Subprocess::running() { return !Reap(false); }

int Subprocess::Wait() {
  Reap(true);
  return exit_code_;
}

void Subprocess::Signal(int signal) {
  if (pid_ > 0) kill(pid_, signal);
}

void Subprocess::Stop(int grace_ms) {
  if (pid_ <= 0) return;
  const pid_t pid = pid_;
  kill(pid, SIGTERM);
  if (!WaitForEnd(pid, grace_ms)) kill(own_group_ ? -pid : pid, SIGKILL);
  Reap(true);
}

}  // namespace trireme
