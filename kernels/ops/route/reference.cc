// The k largest logits of each token in falling order, and the softmax over them.
#include <cmath>

#include "kernels/ops/kernel.h"
#include "kernels/ops/reference_util.h"

namespace trireme {
namespace {

// Ids of the k largest; ties go to the lower id. Always k different valid ids, even among NaNs.
std::vector<int64_t> LargestIds(const std::vector<double>& logits, int64_t k) {
  std::vector<bool> is_taken(logits.size());
  std::vector<int64_t> ids;
  for (int64_t choice = 0; choice < k; ++choice) {
    int64_t best = -1;
    for (size_t id = 0; id < logits.size(); ++id) {
      if (!is_taken[id] && (best < 0 || logits[id] > logits[best])) best = static_cast<int64_t>(id);
    }
    is_taken[best] = true;
    ids.push_back(best);
  }
  return ids;
}

}  // namespace

void Reference_route(const KernelArgs& args) {
  const int64_t num_experts = LastSize(args.in[0]);
  const int64_t k = args.attrs.GetInt("k");
  for (int64_t token = 0; token < NumRows(args.in[0]); ++token) {
    std::vector<double> logits(num_experts);
    for (int64_t e = 0; e < num_experts; ++e) logits[e] = Load(args.in[0], token * num_experts + e);
    const std::vector<int64_t> ids = LargestIds(logits, k);
    double sum = 0;
    for (const int64_t id : ids) sum += std::exp(logits[id] - logits[ids[0]]);
    for (int64_t choice = 0; choice < k; ++choice) {
      const int64_t id = ids[choice];
      Store(args.out[0], token * k + choice, static_cast<double>(id));
      Store(args.out[1], token * k + choice, std::exp(logits[id] - logits[ids[0]]) / sum);
    }
  }
}

}  // namespace trireme
