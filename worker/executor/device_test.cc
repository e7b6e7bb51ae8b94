// Device memory starts zeroed and aligned, and comes back as it was written.
#include "worker/executor/device.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace trireme {
namespace {

TEST(CpuDevice, MemoryIsZeroedAlignedAndKept) {
  const std::unique_ptr<Device> device = MakeCpuDevice(3);
  EXPECT_EQ(device->stream().num_threads, 3);
  for (const int64_t bytes : {0, 1, 100000}) {
    const StatusOr<char*> block = device->Allocate(bytes);
    ASSERT_TRUE(block.ok()) << block.status();
    EXPECT_EQ(reinterpret_cast<uintptr_t>(*block) % 64, 0u);
    std::vector<char> host(bytes, 1), expected(bytes, 0);
    device->CopyOut(host.data(), *block, bytes);
    EXPECT_EQ(host, expected);
    if (bytes < 2) continue;
    host[1] = 42;
    device->CopyIn(*block, host.data(), bytes);
    device->Copy(*block, *block + 1, 1);
    EXPECT_EQ((*block)[0], 42);
    device->FillZero(*block, bytes);
    EXPECT_EQ((*block)[1], 0);
  }
}

TEST(CpuDevice, TooMuchIsAnError) {
  EXPECT_EQ(MakeCpuDevice(1)->Allocate(int64_t{1} << 60).status().code(),
            absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace trireme
