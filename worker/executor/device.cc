// CPU device: blocks are aligned to huge pages and the kernel is asked to use them, which saves TLB
// misses in large products.
#include "worker/executor/device.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "common/base/math.h"

namespace trireme {
namespace {

constexpr int64_t kHugePage = int64_t{2} << 20;

struct Free {
  void operator()(char* block) const { std::free(block); }
};

class CpuDevice final : public Device {
 public:
  explicit CpuDevice(int num_threads) { stream_.num_threads = std::max(num_threads, 1); }

  StatusOr<char*> Allocate(int64_t bytes) override {
    const int64_t rounded = RoundUp(std::max<int64_t>(bytes, 1), kHugePage);
    std::unique_ptr<char, Free> block(static_cast<char*>(std::aligned_alloc(kHugePage, rounded)));
    if (block == nullptr) {
      return ResourceExhausted("cannot allocate " + std::to_string(bytes) +
                               " bytes of host memory; use more ranks or a smaller microbatch");
    }
    madvise(block.get(), rounded, MADV_HUGEPAGE);  // advice only: failure changes nothing
    std::memset(block.get(), 0, rounded);
    blocks_.push_back(std::move(block));
    return blocks_.back().get();
  }

  // Nothing may be at no address: memcpy wants one even for 0 bytes.
  void CopyIn(void* device_to, const void* host_from, int64_t bytes) override {
    if (bytes > 0) std::memcpy(device_to, host_from, bytes);
  }
  void CopyOut(void* host_to, const void* device_from, int64_t bytes) override {
    if (bytes > 0) std::memcpy(host_to, device_from, bytes);
  }
  void Copy(void* device_to, const void* device_from, int64_t bytes) override {
    if (bytes > 0) std::memmove(device_to, device_from, bytes);
  }
  void FillZero(void* device_to, int64_t bytes) override {
    if (bytes > 0) std::memset(device_to, 0, bytes);
  }
  Stream& stream() override { return stream_; }

 private:
  Stream stream_;
  std::vector<std::unique_ptr<char, Free>> blocks_;
};

}  // namespace

std::unique_ptr<Device> MakeCpuDevice(int num_threads) {
  return std::make_unique<CpuDevice>(num_threads);
}

}  // namespace trireme
