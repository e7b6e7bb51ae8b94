// With w the softmax over the chosen logits: dlogit[id_c] = w_c * (dw_c - sum_j w_j dw_j), 0 for
// experts not chosen.
#include <cmath>

#include "kernels/ops/kernel.h"
#include "kernels/ops/reference_util.h"

namespace trireme {

void Reference_route_grad(const KernelArgs& args) {
  const Tensor& dweights = args.in[0];
  const int64_t k = LastSize(dweights);
  const int64_t num_experts = LastSize(args.in[1]);
  std::vector<double> dlogits(args.out[0].count());
  for (int64_t token = 0; token < NumRows(args.in[1]); ++token) {
    const auto row = [&](int64_t choice) {
      return token * num_experts + static_cast<int64_t>(Load(args.in[2], token * k + choice));
    };
    std::vector<double> weights(k);
    double sum = 0;
    for (int64_t c = 0; c < k; ++c) {
      weights[c] = std::exp(Load(args.in[1], row(c)) - Load(args.in[1], row(0)));
      sum += weights[c];
    }
    double mean = 0;
    for (int64_t c = 0; c < k; ++c) {
      weights[c] /= sum;
      mean += weights[c] * Load(dweights, token * k + c);
    }
    for (int64_t c = 0; c < k; ++c) {
      dlogits[row(c)] = weights[c] * (Load(dweights, token * k + c) - mean);
    }
  }
  StoreAll(args.out[0], dlogits);
}

}  // namespace trireme
