// Built with the thread sanitizer: a kernel whose threads read what their neighbours wrote, with
// and without the barrier in between. race_test.cc runs it and reads what the sanitizer says.
#include <cstdio>
#include <cstring>

#include "kernels/device/cuda/cuda.h"

namespace trireme {
namespace {

__global__ void Reverse(const int* from, int* to, bool barrier) {
  __shared__ int shared[64];
  shared[threadIdx.x] = from[threadIdx.x];
  if (barrier) __syncthreads();
  to[threadIdx.x] = shared[63 - threadIdx.x];
}

int Run(bool barrier) {
  int from[64], to[64] = {};
  for (int i = 0; i < 64; ++i) from[i] = i * i;
  simt::Launch("Reverse", 2, 64, 0, [&] { Reverse(from, to, barrier); });
  int wrong = 0;
  for (int i = 0; i < 64; ++i) wrong += to[i] != from[63 - i];
  std::printf("%d wrong\n", wrong);
  return 0;
}

}  // namespace
}  // namespace trireme

int main(int argc, char** argv) {
  return trireme::Run(argc < 2 || std::strcmp(argv[1], "without-barrier") != 0);
}
