// Element by element from its global index; padding is 0.
#include "kernels/ops/kernel.h"
#include "kernels/ops/random_fill/element.h"
#include "kernels/ops/reference_util.h"

namespace trireme {

void Reference_random_fill(const KernelArgs& args) {
  const Tensor& out = args.out[0];
  const std::string& kind = args.attrs.GetString("kind");
  const double std_dev = args.attrs.GetDouble("std");
  const uint64_t key = RandomKey(args.attrs.GetInt("seed"), args.attrs.GetInt("stream"));
  std::vector<int64_t> start;
  for (int i = 0; i < out.rank(); ++i) {
    start.push_back(args.attrs.GetInt("start_" + std::to_string(i), 0));
  }
  for (int64_t i = 0; i < out.count(); ++i) {
    const int64_t index = LogicalIndex(i, out.sizes, start, args.attrs.GetInts("global_sizes"));
    double value = kind == "ones" ? 1.0 : 0.0;
    if (kind == "truncated_normal") {
      value = std_dev * RandomTruncatedNormal(key, static_cast<uint64_t>(index));
    }
    if (kind == "normal") value = std_dev * RandomNormal(key, static_cast<uint64_t>(index));
    Store(out, i, index < 0 ? 0.0 : value);
  }
}

}  // namespace trireme
