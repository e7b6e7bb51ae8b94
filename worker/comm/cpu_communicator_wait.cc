// How the CPU communicator waits and fails: the progress loop, sleeping without burning a core,
// aborts in both directions, and the texts of errors.
#include <poll.h>
#include <sched.h>

#include <algorithm>
#include <cstdio>
#include <sstream>

#include "common/base/check.h"
#include "worker/comm/cpu_communicator.h"

namespace trireme {
namespace {

// Without progress: first look again at once, then let others run, then sleep. There may be more
// ranks than cores, so looking must stay short. Yielding is limited by time, not rounds: on a busy
// machine one yield can cost a whole time slice, while a sleeper is scheduled soon after its
// wake-up.
constexpr int kSpinRounds = 100;
constexpr int kSocketSpinRounds = 3;
constexpr std::chrono::microseconds kYieldTime{50};

// Longest sleeps, because not everything can wake: another worker's abort during a sleep on the
// doorbell, a shared ring or this rank's own Abort during a sleep on sockets.
constexpr std::chrono::microseconds kDoorbellSleep{10000};
constexpr std::chrono::microseconds kSocketSleep{10000};
constexpr std::chrono::microseconds kMixedSleep{300};

constexpr int kAbortReasonWaitMs = 200;

Status AbortedBy(int32_t rank, const std::string& reason) {
  std::ostringstream out;
  out << "rank " << rank << " aborted: " << reason;
  return Aborted(out.str());
}

void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

Status CpuCommunicator::ExchangeAll(const CallHeader& header) {
  int idle = 0;
  // Behind a limit nothing comes at once. A socket wakes as soon as something comes, and looking at
  // it is a system call; shared memory is cheap to look at and wakes late beside sockets.
  const int spin_rounds = transfer_.paced()          ? 0
                          : transfer_.only_sockets() ? kSocketSpinRounds
                                                     : kSpinRounds;
  Clock::time_point idle_since;
  while (!transfer_.done()) {
    bool moved = false;
    const Status status = transfer_.Advance(&moved);
    if (!status.ok()) return LinkFailed(header, status);
    if (moved) {
      idle = 0;
      if (aborted_.load(std::memory_order_relaxed)) return CheckAborted(false);
      continue;
    }
    if (++idle < spin_rounds) {
      Pause();
      continue;
    }
    const Clock::time_point now = Clock::now();
    if (now >= deadline_) return DeadlinePassed(header);
    if (idle == std::max(spin_rounds, 1)) idle_since = now;
    RETURN_IF_ERROR(Annotate(Wait(now - idle_since, now), ShortText(header)));
  }
  return {};
}

Status CpuCommunicator::Wait(Clock::duration idle, Clock::time_point now) {
  RETURN_IF_ERROR(CheckAborted(/*look_at_links=*/false));
  if (idle < kYieldTime && !transfer_.paced() && !transfer_.only_sockets()) {
    sched_yield();
    return {};
  }
  RETURN_IF_ERROR(SleepForWork(now));
  return CheckAborted(/*look_at_links=*/true);
}

Status CpuCommunicator::SleepForWork(Clock::time_point now) {
  using std::chrono::microseconds;
  CallTransfer::Waits waits = transfer_.ToWaitFor();
  auto left = std::chrono::duration_cast<microseconds>(deadline_ - now) + microseconds(1);
  if (waits.wake_ns != CallTransfer::Waits::kNever) {
    left = std::min(left, microseconds((waits.wake_ns - MonotonicNs()) / 1000 + 1));
  }
  if (left.count() <= 0) return {};
  if (waits.shared_memory && waits.sockets.empty()) {
    CHECK(segment_ != nullptr);
    const uint32_t key = segment_->PrepareSleep(local_rank_);
    bool moved = false;
    const Status status = transfer_.Advance(&moved);
    // An error shows again in the next round, where it is handled.
    if (moved || !status.ok() || transfer_.done() || aborted_.load() || segment_->aborted()) {
      segment_->CancelSleep(local_rank_);
    } else {
      segment_->Sleep(local_rank_, key, std::min(left, kDoorbellSleep));
    }
    return {};
  }
  for (const auto& link : links_) {
    if (link == nullptr || link->abort_fd() < 0) continue;
    waits.sockets.push_back({link->abort_fd(), POLLIN, 0});
  }
  const microseconds limit = std::min(left, waits.shared_memory ? kMixedSleep : kSocketSleep);
  const timespec time{limit.count() / 1000000, limit.count() % 1000000 * 1000};
  ppoll(waits.sockets.data(), waits.sockets.size(), &time, nullptr);
  return {};
}

Status CpuCommunicator::CheckAborted(bool look_at_links) {
  if (aborted_.load()) {
    const std::lock_guard<std::mutex> lock(abort_mutex_);
    return AbortedBy(rank_, abort_reason_);
  }
  if (segment_ != nullptr && segment_->aborted()) {
    const SharedAbort abort = segment_->abort();
    if (abort.kind == AbortKind::kAborted) return AbortedBy(abort.rank, abort.reason);
    std::ostringstream out;
    out << "rank " << abort.rank << " is gone: " << abort.reason;
    return Unavailable(out.str());
  }
  if (!look_at_links || !has_sockets_) return {};
  std::vector<pollfd> entries;
  std::vector<int32_t> peers;
  for (int32_t peer = 0; peer < size(); ++peer) {
    const Link* link = links_[peer].get();
    if (link == nullptr || link->abort_fd() < 0) continue;
    entries.push_back({link->abort_fd(), POLLIN, 0});
    peers.push_back(peer);
  }
  if (entries.empty() || poll(entries.data(), entries.size(), 0) <= 0) return {};
  for (size_t i = 0; i < entries.size(); ++i) {
    if (entries[i].revents == 0) continue;
    const auto reason = links_[peers[i]]->ReadAbort(0);
    if (reason.has_value()) return AbortedBy(peers[i], *reason);
  }
  return {};
}

// A link breaks because its peer aborted (then the reason is there or on its way), died, or closed;
// or because this rank aborted; or because the peer is in another call, which only this side may
// have noticed.
Status CpuCommunicator::LinkFailed(const CallHeader& header, const Status& status) {
  if (status.code() == absl::StatusCode::kInternal) {
    Abort(std::string(ToStd(status.message())));
    return status;
  }
  RETURN_IF_ERROR(Annotate(CheckAborted(/*look_at_links=*/true), ShortText(header)));
  const int32_t peer = transfer_.failed_peer();
  const auto reason = links_[peer]->ReadAbort(kAbortReasonWaitMs);
  if (reason.has_value()) return Annotate(AbortedBy(peer, *reason), ShortText(header));
  return Annotate(status, ShortText(header));
}

std::string CpuCommunicator::SecondsText() const {
  char text[32];
  snprintf(text, sizeof(text), "%g s", static_cast<double>(call_deadline_.count()) / 1000);
  return text;
}

Status CpuCommunicator::DeadlinePassed(const CallHeader& header) {
  const auto missing = transfer_.MissingPeers();
  if (!missing.ok()) return LinkFailed(header, missing.status());
  std::ostringstream out;
  if (missing->empty()) {
    out << RanksText(transfer_.PendingPeers()) << " stopped in the middle of " << ShortText(header)
        << ", not finished after " << SecondsText();
  } else {
    out << "waiting for " << RanksText(*missing) << " in " << ShortText(header) << " for "
        << SecondsText();
  }
  return DeadlineExceeded(out.str());
}

void CpuCommunicator::Abort(const std::string& reason) {
  {
    const std::lock_guard<std::mutex> lock(abort_mutex_);
    if (aborted_.load()) return;
    abort_reason_ = reason;
    aborted_.store(true);
  }
  if (segment_ != nullptr) segment_->Abort(AbortKind::kAborted, rank_, reason);
  for (const auto& link : links_) {
    if (link != nullptr) link->SendAbort(reason);
  }
}

}  // namespace trireme
