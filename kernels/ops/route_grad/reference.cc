// From dw to the scores p of the chosen, dp, and from there to the logits:
//   renormalised: dp_c = total (dw_c - sum_j dw_j p_j / (P + eps)) / (P + eps), P = sum_j p_j
//   otherwise:    dp_c = total dw_c
//   sigmoid: dz_c = dp_c p_c (1 - p_c);  softmax: dz_e = p_e (dp_e - sum_j dp_j p_j), dp_e = 0
// for experts not chosen. Padding tokens (ids -1) give 0.
#include <algorithm>
#include <cmath>

#include "kernels/ops/kernel.h"
#include "kernels/ops/reference_util.h"
#include "kernels/ops/route/routing.h"

namespace trireme {
namespace {

// One token: k choices, all experts.
struct TokenGrad {
  std::vector<double> dw;
  std::vector<double> logits;
  std::vector<int64_t> ids;
};

std::vector<double> Softmax(std::vector<double> z) {
  const double max = *std::max_element(z.begin(), z.end());
  double sum = 0;
  for (double& value : z) sum += value = std::exp(value - max);
  for (double& value : z) value /= sum;
  return z;
}

std::vector<double> GradOfSoftmaxOfChosen(const TokenGrad& t, double total) {
  std::vector<double> chosen;
  for (const int64_t id : t.ids) chosen.push_back(t.logits[id]);
  const std::vector<double> q = Softmax(chosen);
  double mean = 0;
  for (size_t c = 0; c < q.size(); ++c) mean += q[c] * t.dw[c];
  std::vector<double> dz(t.logits.size());
  for (size_t c = 0; c < q.size(); ++c) dz[t.ids[c]] = total * q[c] * (t.dw[c] - mean);
  return dz;
}

std::vector<double> GradOfScores(const TokenGrad& t, const Weighing& weighing) {
  std::vector<double> p = weighing.sigmoid ? t.logits : Softmax(t.logits);
  if (weighing.sigmoid) {
    for (double& value : p) value = 1 / (1 + std::exp(-value));
  }
  double sum = weighing.eps, weighted = 0;
  for (size_t c = 0; c < t.ids.size(); ++c) {
    sum += p[t.ids[c]];
    weighted += t.dw[c] * p[t.ids[c]];
  }
  std::vector<double> dp(p.size());
  double mean = 0;
  for (size_t c = 0; c < t.ids.size(); ++c) {
    const double d = weighing.renormalise ? (t.dw[c] - weighted / sum) / sum : t.dw[c];
    dp[t.ids[c]] = weighing.total * d;
    mean += dp[t.ids[c]] * p[t.ids[c]];
  }
  std::vector<double> dz(p.size());
  for (size_t e = 0; e < p.size(); ++e) {
    dz[e] = weighing.sigmoid ? dp[e] * p[e] * (1 - p[e]) : p[e] * (dp[e] - mean);
  }
  return dz;
}

}  // namespace

void Reference_route_grad(const KernelArgs& args) {
  const int64_t k = LastSize(args.in[0]);
  const int64_t num_experts = LastSize(args.in[1]);
  const Weighing weighing = ReadWeighing(args.attrs);
  std::vector<double> dlogits(args.out[0].count());
  for (int64_t token = 0; token < NumRows(args.in[1]); ++token) {
    TokenGrad t;
    for (int64_t c = 0; c < k; ++c) {
      t.dw.push_back(Load(args.in[0], token * k + c));
      t.ids.push_back(static_cast<int64_t>(Load(args.in[2], token * k + c)));
    }
    if (t.ids[0] < 0) continue;
    for (int64_t e = 0; e < num_experts; ++e) {
      t.logits.push_back(Load(args.in[1], token * num_experts + e));
    }
    const std::vector<double> dz = weighing.IsSoftmaxOfChosen()
                                       ? GradOfSoftmaxOfChosen(t, weighing.total)
                                       : GradOfScores(t, weighing);
    std::copy(dz.begin(), dz.end(), dlogits.begin() + token * num_experts);
  }
  StoreAll(args.out[0], dlogits);
}

}  // namespace trireme
