// The thread polls the socket, standard error and the eventfd; when the first two have ended it
// waits for the process. posix_spawn instead of fork: nothing of a daemon with many threads runs in
// the child.
#include "worker/agent/rank_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "common/base/log.h"
#include "worker/agent/frame.h"

extern char** environ;

namespace trireme {
namespace {

constexpr int kRankFd = 3;
constexpr size_t kMaxLineBytes = 4096;

std::vector<std::string> WithFd(std::vector<std::string> command) {
  for (std::string& argument : command) {
    if (const size_t at = argument.find("{fd}"); at != std::string::npos) {
      argument.replace(at, 4, std::to_string(kRankFd));
    }
  }
  return command;
}

// Spawns with `socket` as kRankFd and `errors` as standard output and error; everything else of
// ours is close-on-exec.
int Spawn(const std::vector<std::string>& command, int socket, int errors, pid_t& pid) {
  std::vector<char*> arguments;
  for (const std::string& argument : command)
    arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, errors, 1);
  posix_spawn_file_actions_adddup2(&files, errors, 2);
  posix_spawn_file_actions_adddup2(&files, socket, kRankFd);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  const int error = posix_spawn(&pid, arguments[0], &files, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  return error;
}

// The daemon's ends are [0]. Numbers below 10 are moved out of the way of what the child gets.
bool MakePair(bool is_pipe, int ends[2]) {
  int raw[2];
  const int made =
      is_pipe ? pipe2(raw, O_CLOEXEC) : socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, raw);
  if (made != 0) return false;
  for (int i = 0; i < 2; ++i) {
    ends[i] = fcntl(raw[i], F_DUPFD_CLOEXEC, 10);
    close(raw[i]);
  }
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return ends[0] >= 0 && ends[1] >= 0;
}

}  // namespace

struct RankProcess::Reader {
  FrameReader frames;
};

std::string DescribeExit(int wait_status) {
  if (WIFSIGNALED(wait_status)) {
    const int signal = WTERMSIG(wait_status);
    const std::string hint = signal == SIGKILL ? "; the kernel does that when memory runs out" : "";
    return "was killed by signal " + std::to_string(signal) + " (" + strsignal(signal) + hint + ")";
  }
  return "exited with code " + std::to_string(WEXITSTATUS(wait_status));
}

StatusOr<std::unique_ptr<RankProcess>> RankProcess::Start(const std::vector<std::string>& command,
                                                          Callbacks callbacks) {
  int socket[2], errors[2];
  if (!MakePair(false, socket)) {
    return Unavailable(std::string("cannot make a socket pair: ") + std::strerror(errno));
  }
  if (!MakePair(true, errors)) {
    close(socket[0]);
    close(socket[1]);
    return Unavailable(std::string("cannot make a pipe: ") + std::strerror(errno));
  }
  pid_t pid = 0;
  const int error = Spawn(WithFd(command), socket[1], errors[1], pid);
  close(socket[1]);
  close(errors[1]);
  if (error != 0) {
    close(socket[0]);
    close(errors[0]);
    return Unavailable("cannot start " + command[0] + ": " + std::strerror(error));
  }
  const int wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  return std::unique_ptr<RankProcess>(
      new RankProcess(pid, socket[0], errors[0], wake, std::move(callbacks)));
}

RankProcess::RankProcess(pid_t pid, int socket, int errors, int wake, Callbacks callbacks)
    : pid_(pid),
      socket_(socket),
      errors_(errors),
      wake_(wake),
      callbacks_(std::move(callbacks)),
      reader_(std::make_unique<Reader>()),
      thread_([this] { Loop(); }) {}

RankProcess::~RankProcess() {
  Kill(SIGKILL);
  thread_.join();
  close(wake_);
}

void RankProcess::Send(const v1::RankCommand& command) {
  {
    const std::lock_guard lock(mutex_);
    commands_.push_back(Frame(command.SerializeAsString()));
  }
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(wake_, &one, sizeof(one));
}

void RankProcess::Kill(int signal) {
  const std::lock_guard lock(mutex_);
  if (!reaped_) kill(pid_, signal);
}

void RankProcess::TakeCommands() {
  uint64_t count;
  [[maybe_unused]] const ssize_t bytes = read(wake_, &count, sizeof(count));
  const std::lock_guard lock(mutex_);
  for (std::string& command : commands_) writing_ += command;
  commands_.clear();
}

bool RankProcess::WriteSocket() {
  while (!writing_.empty()) {
    const ssize_t sent = send(socket_, writing_.data(), writing_.size(), MSG_NOSIGNAL);
    if (sent < 0) return errno == EAGAIN || errno == EINTR;
    writing_.erase(0, sent);
  }
  return true;
}

bool RankProcess::ReadSocket() {
  char buffer[65536];
  const ssize_t bytes = read(socket_, buffer, sizeof(buffer));
  if (bytes < 0) return errno == EAGAIN || errno == EINTR;
  if (bytes == 0) return false;
  if (!reader_->frames.Add({buffer, static_cast<size_t>(bytes)}).ok()) return false;
  for (const std::string& message : reader_->frames.Take()) {
    v1::RankEvent event;
    if (!event.ParseFromString(message)) return false;
    callbacks_.event(event);
  }
  return true;
}

bool RankProcess::ReadErrors() {
  char buffer[4096];
  const ssize_t bytes = read(errors_, buffer, sizeof(buffer));
  if (bytes < 0) return errno == EAGAIN || errno == EINTR;
  for (ssize_t i = 0; i < bytes; ++i) {
    if (buffer[i] != '\n') line_ += buffer[i];
    if (buffer[i] != '\n' && line_.size() < kMaxLineBytes) continue;
    callbacks_.line(std::exchange(line_, {}));
  }
  if (bytes == 0 && !line_.empty()) callbacks_.line(std::exchange(line_, {}));
  return bytes > 0;
}

void RankProcess::Loop() {
  while (socket_ >= 0 || errors_ >= 0) {
    pollfd polled[3] = {
        {socket_, static_cast<int16_t>(POLLIN | (writing_.empty() ? 0 : POLLOUT)), 0},
        {errors_, POLLIN, 0},
        {wake_, POLLIN, 0}};
    if (poll(polled, 3, -1) < 0) continue;  // EINTR
    if (polled[2].revents != 0) TakeCommands();
    if (socket_ >= 0) {
      const bool alive = (polled[0].revents & (POLLIN | POLLHUP | POLLERR)) == 0 || ReadSocket();
      if (!alive || !WriteSocket()) {
        close(socket_);
        socket_ = -1;
      }
    }
    if (polled[1].revents != 0 && !ReadErrors()) {
      close(errors_);
      errors_ = -1;
    }
  }
  // Not reaped yet, so the number is still its own while Kill uses it.
  siginfo_t info;
  while (waitid(P_PID, pid_, &info, WEXITED | WNOWAIT) != 0 && errno == EINTR) {
  }
  int status = 0;
  {
    const std::lock_guard lock(mutex_);
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    reaped_ = true;
  }
  callbacks_.exited(status);
}

}  // namespace trireme
