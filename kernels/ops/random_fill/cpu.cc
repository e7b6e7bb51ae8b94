// The reference's element function over all threads; double precision and the same bits as the
// reference. There is no cuda.cu: a GPU's log and cos round otherwise, so weights are made here and
// copied, the same on every device.
#include <string>
#include <vector>

#include "kernels/device/cpu_util.h"
#include "kernels/device/parallel.h"
#include "kernels/ops/kernel.h"
#include "kernels/ops/random_fill/element.h"

namespace trireme {

void Reference_random_fill(const KernelArgs& args);

namespace {

// Element = std * Number(key, index).
template <double (*Number)(uint64_t, uint64_t)>
void FillWith(const KernelArgs& args) {
  const Tensor& out = args.out[0];
  const double std_dev = args.attrs.GetDouble("std");
  const uint64_t key = RandomKey(args.attrs.GetInt("seed"), args.attrs.GetInt("stream"));
  const std::vector<int64_t>& global_sizes = args.attrs.GetInts("global_sizes");
  std::vector<int64_t> start;
  for (int i = 0; i < out.rank(); ++i) {
    start.push_back(args.attrs.GetInt("start_" + std::to_string(i), 0));
  }
  float* y = out.f32();
  ParallelFor(args.stream, out.count(), kGrainElements, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t index = LogicalIndex(i, out.sizes, start, global_sizes);
      const double value = index < 0 ? 0.0 : std_dev * Number(key, static_cast<uint64_t>(index));
      y[i] = static_cast<float>(value);
    }
  });
}

}  // namespace

void Cpu_random_fill(const KernelArgs& args) {
  const std::string& kind = args.attrs.GetString("kind");
  const bool fast = AreFloat32(args.out, {0});
  if (fast && kind == "normal") return FillWith<RandomNormal>(args);
  if (fast && kind == "truncated_normal") return FillWith<RandomTruncatedNormal>(args);
  Reference_random_fill(args);
}

}  // namespace trireme
