// Routers for tests: forms that models use, logits with a clear gap between chosen and not chosen,
// padding.
#ifndef TRIREME_KERNELS_OPS_ROUTE_TEST_CASES_H_
#define TRIREME_KERNELS_OPS_ROUTE_TEST_CASES_H_

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "kernels/testing/op_case.h"

namespace trireme {

// A way to choose and weigh.
struct RouterForm {
  std::string score = "softmax";
  std::string bias_to = "none";
  int64_t renormalise = 1;
  double total = 1;
  double eps = 0;

  bool has_bias() const { return bias_to != "none"; }
};

inline RouterForm MixtralForm() { return {}; }
inline RouterForm GrugForm() { return {"sigmoid", "logits", 1, 2.5, 1e-9}; }
inline RouterForm DeepSeekForm() { return {"sigmoid", "scores", 1, 1.8, 1e-20}; }

// The models' and every other path through the kernels.
inline std::vector<RouterForm> AllForms() {
  return {MixtralForm(),
          GrugForm(),
          DeepSeekForm(),
          {"sigmoid", "none", 0, 1, 0},
          {"softmax", "none", 0, 2, 0},
          {"softmax", "none", 1, 1.5, 0.25},
          {"softmax", "logits", 1, 1, 0},
          {"softmax", "scores", 0, 1, 0}};
}

// For `tokens` tokens, `experts` numbers at distances of 0.3 to 0.5 in random order.
inline std::vector<double> GappedLogits(int64_t tokens, int64_t experts, uint64_t seed = 7) {
  TestRandom random(seed);
  std::vector<double> values;
  for (int64_t token = 0; token < tokens; ++token) {
    std::vector<double> row;
    for (int64_t e = 0; e < experts; ++e) {
      row.push_back(0.4 * static_cast<double>(e - experts / 2) + 0.1 * (random.Uniform() - 0.5));
    }
    for (int64_t e = experts - 1; e > 0; --e) std::swap(row[e], row[random.Below(e + 1)]);
    values.insert(values.end(), row.begin(), row.end());
  }
  return values;
}

// Every fifth token, from the fourth on, is padding.
inline std::vector<double> SomePadding(int64_t tokens) {
  std::vector<double> segments(tokens);
  for (int64_t token = 3; token < tokens; token += 5) segments[token] = -1;
  return segments;
}

// Smallest distance, over rows of `experts` scores, between the k-th and the next largest.
inline double SmallestGap(const std::vector<double>& scores, int64_t experts, int64_t k) {
  double gap = 1e30;
  for (size_t begin = 0; begin < scores.size() && k < experts; begin += experts) {
    std::vector<double> row(scores.begin() + begin, scores.begin() + begin + experts);
    std::sort(row.begin(), row.end(), std::greater<double>());
    gap = std::min(gap, row[k - 1] - row[k]);
  }
  return gap;
}

}  // namespace trireme

#endif  // TRIREME_KERNELS_OPS_ROUTE_TEST_CASES_H_
