// The memory that a rank computes in. Everything above sees it only through these calls, so no host
// pointer is assumed to be readable: on the CPU device the copies are plain memcpy.
#ifndef TRIREME_WORKER_EXECUTOR_DEVICE_H_
#define TRIREME_WORKER_EXECUTOR_DEVICE_H_

#include <cstdint>
#include <memory>

#include "common/base/status.h"
#include "kernels/device/tensor.h"

namespace trireme {

class Device {
 public:
  virtual ~Device() = default;

  // One zeroed block, aligned to at least 64 bytes, owned by the device until its end.
  // Errors: kResourceExhausted naming the bytes.
  virtual StatusOr<char*> Allocate(int64_t bytes) = 0;
  virtual void CopyIn(void* device_to, const void* host_from, int64_t bytes) = 0;
  virtual void CopyOut(void* host_to, const void* device_from, int64_t bytes) = 0;
  virtual void Copy(void* device_to, const void* device_from, int64_t bytes) = 0;
  virtual void FillZero(void* device_to, int64_t bytes) = 0;
  // Where kernels run; copies are ordered after them.
  virtual Stream& stream() = 0;
};

// The calling process's memory and `num_threads` kernel threads.
std::unique_ptr<Device> MakeCpuDevice(int num_threads);

}  // namespace trireme

#endif  // TRIREME_WORKER_EXECUTOR_DEVICE_H_
