// Every slot has a version: odd while it is written, so that a reader sees whether the fields
// belong together. All fields are sequentially consistent atomics; a few hundred cycles a call are
// nothing beside the call.
#include "worker/comm/flight_recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <sstream>

namespace trireme {
namespace {

constexpr uint64_t kMagic = 0x5452494d464c5431ull;  // "TRIMFLT1"

template <typename T>
using Field = std::atomic<T>;

struct ProgressFields {
  Field<int64_t> step;
  Field<int32_t> item;
  Field<int32_t> instruction;

  void Set(const Progress& p) {
    step = p.step;
    item = p.item;
    instruction = p.instruction;
  }
  Progress Get() const { return {step, item, instruction}; }
};

struct Slot {
  Field<uint32_t> version;
  Field<uint16_t> op;
  Field<uint64_t> index;  // of the call, because a slot is used again
  Field<int32_t> group;
  Field<int32_t> state;
  Field<uint64_t> sequence;
  Field<int64_t> bytes;
  Field<int64_t> start_ns;
  Field<int64_t> end_ns;
  ProgressFields progress;
};

// False if the writer was in the middle of it, or has put a later call there.
bool ReadSlot(const Slot& slot, uint64_t index, CallRecord* record) {
  const uint32_t version = slot.version;
  const bool same_call = slot.index == index;
  record->sequence = slot.sequence;
  record->op = static_cast<CommOp>(slot.op.load());
  record->group = slot.group;
  record->bytes = slot.bytes;
  record->state = static_cast<CallState>(slot.state.load());
  record->progress = slot.progress.Get();
  record->start_ns = slot.start_ns;
  record->end_ns = slot.end_ns;
  return same_call && version % 2 == 0 && slot.version == version;
}

std::string_view StateText(CallState state) {
  return state == CallState::kStarted ? "started" : state == CallState::kDone ? "done" : "failed";
}

std::string ProgressText(const Progress& progress) {
  std::ostringstream out;
  out << "step=" << progress.step << " item=" << progress.item
      << " instruction=" << progress.instruction;
  return out.str();
}

}  // namespace

struct FlightRecorder::File {
  Field<uint64_t> magic;
  Field<int32_t> rank;
  ProgressFields progress;
  Field<uint64_t> num_calls;  // slot of call i is i % kFlightRecords
  Slot slots[kFlightRecords];
};

StatusOr<std::unique_ptr<FlightRecorder>> FlightRecorder::Create(const std::string& path,
                                                                 int32_t rank) {
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return InvalidArgument("flight recorder " + path + ": " + strerror(errno));
  void* memory = MAP_FAILED;
  if (ftruncate(fd, sizeof(File)) == 0) {
    memory = mmap(nullptr, sizeof(File), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  }
  const int error = errno;
  close(fd);
  if (memory == MAP_FAILED) {
    return InvalidArgument("flight recorder " + path + ": " + strerror(error));
  }
  File* file = static_cast<File*>(memory);
  file->rank = rank;
  file->progress.Set(Progress());
  file->magic = kMagic;
  return std::unique_ptr<FlightRecorder>(new FlightRecorder(file));
}

FlightRecorder::~FlightRecorder() { munmap(file_, sizeof(File)); }

void FlightRecorder::SetProgress(const Progress& progress) { file_->progress.Set(progress); }

void FlightRecorder::Start(const CallHeader& call, int64_t now_ns) {
  const uint64_t index = file_->num_calls;
  Slot& slot = file_->slots[index % kFlightRecords];
  slot.version += 1;
  slot.index = index;
  slot.sequence = call.sequence;
  slot.op = static_cast<uint16_t>(call.op);
  slot.group = call.group;
  slot.bytes = call.bytes;
  slot.state = static_cast<int32_t>(CallState::kStarted);
  slot.progress.Set(file_->progress.Get());
  slot.start_ns = now_ns;
  slot.end_ns = 0;
  slot.version += 1;
  file_->num_calls = index + 1;
}

void FlightRecorder::Finish(bool ok, int64_t now_ns) {
  const uint64_t num_calls = file_->num_calls;
  if (num_calls == 0) return;
  Slot& slot = file_->slots[(num_calls - 1) % kFlightRecords];
  slot.version += 1;
  slot.state = static_cast<int32_t>(ok ? CallState::kDone : CallState::kFailed);
  slot.end_ns = now_ns;
  slot.version += 1;
}

StatusOr<FlightRecording> ReadFlightRecorder(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return NotFound("flight recorder " + path + ": " + strerror(errno));
  struct stat info;
  void* memory = MAP_FAILED;
  if (fstat(fd, &info) == 0 && info.st_size == sizeof(FlightRecorder::File)) {
    memory = mmap(nullptr, sizeof(FlightRecorder::File), PROT_READ, MAP_SHARED, fd, 0);
  }
  close(fd);
  if (memory == MAP_FAILED) return InvalidArgument(path + " is no flight recording");
  const auto* file = static_cast<const FlightRecorder::File*>(memory);
  const bool known = file->magic == kMagic;
  FlightRecording recording;
  recording.rank = file->rank;
  recording.progress = file->progress.Get();
  const uint64_t end = file->num_calls;
  const uint64_t begin = end > kFlightRecords ? end - kFlightRecords : 0;
  for (uint64_t i = begin; known && i < end; ++i) {
    CallRecord record;
    if (ReadSlot(file->slots[i % kFlightRecords], i, &record)) recording.calls.push_back(record);
  }
  munmap(memory, sizeof(FlightRecorder::File));
  if (!known) return InvalidArgument(path + " is no flight recording of this version");
  return recording;
}

std::string ToText(const FlightRecording& recording, int64_t now_ns) {
  std::ostringstream out;
  out << "rank=" << recording.rank << " " << ProgressText(recording.progress) << "\n";
  for (const CallRecord& call : recording.calls) {
    const bool running = call.state == CallState::kStarted;
    char seconds[32];
    snprintf(seconds, sizeof(seconds), "%.6f",
             1e-9 * static_cast<double>((running ? now_ns : call.end_ns) - call.start_ns));
    out << Name(call.op) << " #" << call.sequence << " group=" << call.group
        << " bytes=" << call.bytes << " " << StateText(call.state) << " "
        << ProgressText(call.progress) << (running ? " age=" : " took=") << seconds << "s\n";
  }
  return out.str();
}

int64_t WallClockNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace trireme
