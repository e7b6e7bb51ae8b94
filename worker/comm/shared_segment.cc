// Layout: header page | page of buckets | two cache lines a rank | for each ordered pair a ring
// header and its bytes. All zero is the valid start state. Sleeping follows Dekker: the sleeper
// says so and looks again, the waker changes and looks.
#include "worker/comm/shared_segment.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>

#include "common/base/check.h"
#include "common/base/math.h"

namespace trireme {
namespace {

constexpr uint64_t kMagic = 0x5452494d53484d32ull;  // "TRIMSHM2"
constexpr int64_t kHeaderBytes = 4096;
constexpr int64_t kBucketBytes = SharedSegment::kNumBuckets * sizeof(std::atomic<int64_t>);
constexpr int64_t kReasonBytes = 1024;

// Large enough to overlap sender and receiver, small enough to stay in the cache.
int64_t RingBytes(int32_t num_local_ranks) { return num_local_ranks <= 8 ? 256 << 10 : 64 << 10; }

int64_t RingStride(int32_t num_local_ranks) {
  return static_cast<int64_t>(sizeof(ShmRing)) + RingBytes(num_local_ranks);
}

int64_t RingsOffset(int32_t num_local_ranks) {
  return RoundUp(kHeaderBytes + kBucketBytes + 128 * num_local_ranks, 4096);
}

Status SystemError(const std::string& what) {
  return Internal(what + ": " + std::string(strerror(errno)));
}

// Not the private kind: the ranks are processes.
void Futex(std::atomic<uint32_t>* word, int operation, uint32_t value, const timespec* limit) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(word), operation, value, limit, nullptr, 0);
}

}  // namespace

struct SharedSegment::Header {
  uint64_t magic;
  int64_t attempt;
  int32_t num_local_ranks;
  alignas(64) std::atomic<uint32_t> abort_state;  // 0 none, 1 being written, 2 written
  AbortKind abort_kind;
  int32_t abort_rank;
  char abort_reason[kReasonBytes];
};

struct SharedSegment::RankState {
  alignas(128) std::atomic<uint32_t> doorbell;
  std::atomic<uint32_t> sleeping;
  std::atomic<uint32_t> closed;
};

int64_t SharedSegmentBytes(int32_t num_local_ranks) {
  const int64_t n = num_local_ranks;
  return RingsOffset(num_local_ranks) + RoundUp(n * (n - 1) * RingStride(num_local_ranks), 4096);
}

SharedSegment::SharedSegment(int fd, void* base, int32_t num_local_ranks)
    : fd_(fd),
      base_(static_cast<char*>(base)),
      num_local_ranks_(num_local_ranks),
      ring_bytes_(RingBytes(num_local_ranks)) {
  static_assert(sizeof(Header) <= kHeaderBytes);
  static_assert(sizeof(RankState) == 128);
  static_assert(std::atomic<uint32_t>::is_always_lock_free);
  static_assert(std::atomic<int64_t>::is_always_lock_free);
  static_assert(kBucketBytes == 4096);
}

SharedSegment::~SharedSegment() {
  munmap(base_, SharedSegmentBytes(num_local_ranks_));
  if (fd_ >= 0) close(fd_);
}

StatusOr<std::unique_ptr<SharedSegment>> SharedSegment::Map(int map_fd, int owned_fd,
                                                            int32_t num_local_ranks) {
  void* base = mmap(nullptr, SharedSegmentBytes(num_local_ranks), PROT_READ | PROT_WRITE,
                    MAP_SHARED, map_fd, 0);
  if (base == MAP_FAILED) return SystemError("cannot map the shared segment");
  return std::unique_ptr<SharedSegment>(new SharedSegment(owned_fd, base, num_local_ranks));
}

StatusOr<std::unique_ptr<SharedSegment>> SharedSegment::Create(int32_t num_local_ranks,
                                                               int64_t attempt) {
  CHECK(num_local_ranks >= 1) << num_local_ranks;
  const int fd = memfd_create("trireme-ranks", MFD_CLOEXEC);
  if (fd < 0) return SystemError("memfd_create");
  if (ftruncate(fd, SharedSegmentBytes(num_local_ranks)) != 0) {
    const Status status = SystemError("cannot size the shared segment");
    close(fd);
    return status;
  }
  auto segment = Map(fd, fd, num_local_ranks);
  if (!segment.ok()) {
    close(fd);
    return segment;
  }
  Header* header = (*segment)->header();
  header->attempt = attempt;
  header->num_local_ranks = num_local_ranks;
  header->magic = kMagic;
  return segment;
}

StatusOr<std::unique_ptr<SharedSegment>> SharedSegment::Open(int fd, int32_t num_local_ranks,
                                                             int64_t attempt) {
  struct stat info;
  if (fstat(fd, &info) != 0) {
    std::ostringstream out;
    out << "shared segment, file descriptor " << fd << ": " << strerror(errno);
    return InvalidArgument(out.str());
  }
  if (info.st_size != SharedSegmentBytes(num_local_ranks)) {
    std::ostringstream out;
    out << "the shared segment has " << info.st_size << " bytes, " << num_local_ranks
        << " local ranks need " << SharedSegmentBytes(num_local_ranks)
        << "; daemon and rank disagree about the ranks of this worker";
    return InvalidArgument(out.str());
  }
  ASSIGN_OR_RETURN(auto segment, Map(fd, -1, num_local_ranks));
  const Header* header = segment->header();
  if (header->magic != kMagic || header->num_local_ranks != num_local_ranks) {
    return InvalidArgument("the file is no shared segment of this version");
  }
  if (header->attempt != attempt) {
    std::ostringstream out;
    out << "the shared segment belongs to attempt " << header->attempt << ", this rank to attempt "
        << attempt << "; every attempt needs a fresh segment";
    return FailedPrecondition(out.str());
  }
  return segment;
}

StatusOr<std::unique_ptr<SharedSegment>> SharedSegment::OpenPath(const std::string& path,
                                                                 int32_t num_local_ranks,
                                                                 int64_t attempt) {
  const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) return InvalidArgument("shared segment " + path + ": " + strerror(errno));
  auto segment = Open(fd, num_local_ranks, attempt);
  close(fd);
  if (!segment.ok()) return Annotate(segment.status(), path);
  return segment;
}

SharedSegment::Header* SharedSegment::header() const { return reinterpret_cast<Header*>(base_); }

SharedSegment::RankState* SharedSegment::state(int32_t local_rank) const {
  CHECK(local_rank >= 0 && local_rank < num_local_ranks_) << local_rank;
  return reinterpret_cast<RankState*>(base_ + kHeaderBytes + kBucketBytes) + local_rank;
}

std::atomic<int64_t>* SharedSegment::bucket(int32_t worker) const {
  CHECK(worker >= 0) << worker;
  return reinterpret_cast<std::atomic<int64_t>*>(base_ + kHeaderBytes) + worker % kNumBuckets;
}

ShmRing* SharedSegment::ring(int32_t from, int32_t to) const {
  CHECK(from != to && from >= 0 && to >= 0 && from < num_local_ranks_ && to < num_local_ranks_)
      << from << " to " << to;
  const int64_t index = from * (num_local_ranks_ - 1) + (to < from ? to : to - 1);
  return reinterpret_cast<ShmRing*>(base_ + RingsOffset(num_local_ranks_) +
                                    index * RingStride(num_local_ranks_));
}

char* SharedSegment::ring_data(int32_t from, int32_t to) const {
  return reinterpret_cast<char*>(ring(from, to)) + sizeof(ShmRing);
}

void SharedSegment::Abort(AbortKind kind, int32_t rank, const std::string& reason) {
  Header* h = header();
  uint32_t expected = 0;
  if (!h->abort_state.compare_exchange_strong(expected, 1)) return;
  h->abort_kind = kind;
  h->abort_rank = rank;
  const size_t length = std::min<size_t>(reason.size(), kReasonBytes - 1);
  memcpy(h->abort_reason, reason.data(), length);
  h->abort_reason[length] = '\0';
  h->abort_state.store(2);
  for (int32_t i = 0; i < num_local_ranks_; ++i) Wake(i);
}

bool SharedSegment::aborted() const {
  return header()->abort_state.load(std::memory_order_acquire) == 2;
}

SharedAbort SharedSegment::abort() const {
  CHECK(aborted());
  const Header* h = header();
  return {h->abort_kind, h->abort_rank,
          std::string(h->abort_reason, strnlen(h->abort_reason, kReasonBytes))};
}

void SharedSegment::Close(int32_t local_rank) {
  state(local_rank)->closed.store(1);
  for (int32_t i = 0; i < num_local_ranks_; ++i) Wake(i);
}

bool SharedSegment::closed(int32_t local_rank) const {
  return state(local_rank)->closed.load() != 0;
}

uint32_t SharedSegment::PrepareSleep(int32_t local_rank) {
  RankState* s = state(local_rank);
  s->sleeping.store(1);
  return s->doorbell.load();
}

void SharedSegment::CancelSleep(int32_t local_rank) { state(local_rank)->sleeping.store(0); }

void SharedSegment::Sleep(int32_t local_rank, uint32_t key, std::chrono::microseconds limit) {
  RankState* s = state(local_rank);
  const int64_t ns = std::max<int64_t>(limit.count(), 1) * 1000;
  const timespec time{ns / 1000000000, ns % 1000000000};
  Futex(&s->doorbell, FUTEX_WAIT, key, &time);
  s->sleeping.store(0);
}

void SharedSegment::Wake(int32_t local_rank) {
  RankState* s = state(local_rank);
  if (s->sleeping.load() == 0) return;
  s->doorbell.fetch_add(1);
  Futex(&s->doorbell, FUTEX_WAKE, INT_MAX, nullptr);
}

}  // namespace trireme
