// Selection scores s = z, z + bias or p + bias; the k largest s in falling order (ties: the lower
// id); weights from the scores p of the chosen. Padding tokens choose nobody: ids -1, weights 0.
#include <algorithm>
#include <cmath>

#include "kernels/ops/kernel.h"
#include "kernels/ops/reference_util.h"
#include "kernels/ops/route/routing.h"

namespace trireme {
namespace {

double Sigmoid(double z) { return 1 / (1 + std::exp(-z)); }

// Scores of all experts.
std::vector<double> Scores(const std::vector<double>& logits, bool sigmoid) {
  std::vector<double> p = logits;
  if (sigmoid) {
    for (double& value : p) value = Sigmoid(value);
    return p;
  }
  const double max = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (double& value : p) sum += value = std::exp(value - max);
  for (double& value : p) value /= sum;
  return p;
}

// Ids of the k largest; ties go to the lower id. Always k different valid ids, even among NaNs.
std::vector<int64_t> LargestIds(const std::vector<double>& s, int64_t k) {
  std::vector<bool> is_taken(s.size());
  std::vector<int64_t> ids;
  for (int64_t choice = 0; choice < k; ++choice) {
    int64_t best = -1;
    for (size_t id = 0; id < s.size(); ++id) {
      if (!is_taken[id] && (best < 0 || RanksAbove(s[id], s[best])))
        best = static_cast<int64_t>(id);
    }
    is_taken[best] = true;
    ids.push_back(best);
  }
  return ids;
}

// Weights of the experts `ids`.
std::vector<double> Weights(const Weighing& weighing, const std::vector<double>& logits,
                            const std::vector<int64_t>& ids) {
  std::vector<double> chosen;
  for (const int64_t id : ids) chosen.push_back(logits[id]);
  std::vector<double> weights;
  if (weighing.IsSoftmaxOfChosen()) {
    weights = Scores(chosen, false);  // p may be 0 for all of them where a bias chose
  } else {
    const std::vector<double> p = Scores(logits, weighing.sigmoid);
    double sum = 0;
    for (const int64_t id : ids) {
      weights.push_back(p[id]);
      sum += p[id];
    }
    if (weighing.renormalise) {
      for (double& weight : weights) weight /= sum + weighing.eps;
    }
  }
  for (double& weight : weights) weight *= weighing.total;
  return weights;
}

}  // namespace

void Reference_route(const KernelArgs& args) {
  const int64_t num_experts = LastSize(args.in[0]);
  const int64_t k = args.attrs.GetInt("k");
  const BiasTo bias_to = ReadBiasTo(args.attrs);
  const Weighing weighing = ReadWeighing(args.attrs);
  const Tensor& segments = args.in.back();
  for (int64_t token = 0; token < NumRows(args.in[0]); ++token) {
    if (Load(segments, token) < 0) {
      for (int64_t choice = 0; choice < k; ++choice) {
        Store(args.out[0], token * k + choice, -1);
        Store(args.out[1], token * k + choice, 0);
      }
      continue;
    }
    std::vector<double> logits(num_experts);
    for (int64_t e = 0; e < num_experts; ++e) logits[e] = Load(args.in[0], token * num_experts + e);
    std::vector<double> s = bias_to == BiasTo::kScores ? Scores(logits, weighing.sigmoid) : logits;
    if (bias_to != BiasTo::kNone) {
      for (int64_t e = 0; e < num_experts; ++e) s[e] += Load(args.in[1], e);
    }
    const std::vector<int64_t> ids = LargestIds(s, k);
    const std::vector<double> weights = Weights(weighing, logits, ids);
    for (int64_t choice = 0; choice < k; ++choice) {
      Store(args.out[0], token * k + choice, static_cast<double>(ids[choice]));
      Store(args.out[1], token * k + choice, weights[choice]);
    }
  }
}

}  // namespace trireme
