// What the kernels of the router share: its attributes, and the order in which experts are chosen.
#ifndef TRIREME_KERNELS_OPS_ROUTE_ROUTING_H_
#define TRIREME_KERNELS_OPS_ROUTE_ROUTING_H_

#include <cmath>
#include <string>

#include "common/ir/attrs.h"

namespace trireme {

// What the selection bias is added to.
enum class BiasTo : uint8_t { kNone, kLogits, kScores };

inline BiasTo ReadBiasTo(const Attrs& attrs) {
  const std::string& to = attrs.GetString("bias_to");
  return to == "logits" ? BiasTo::kLogits : to == "scores" ? BiasTo::kScores : BiasTo::kNone;
}

// Scores are sigmoids of the logits; otherwise their softmax.
inline bool ReadSigmoid(const Attrs& attrs) { return attrs.GetString("score") == "sigmoid"; }

// How chosen scores p become weights: total * p, over (sum of the chosen p + eps) if renormalised.
struct Weighing {
  bool sigmoid = false;
  bool renormalise = false;
  double total = 1;
  double eps = 0;

  // The weights are then the softmax over the chosen logits alone.
  bool IsSoftmaxOfChosen() const { return !sigmoid && renormalise && eps == 0; }
};

inline Weighing ReadWeighing(const Attrs& attrs) {
  return {.sigmoid = ReadSigmoid(attrs),
          .renormalise = attrs.GetInt("renormalise") != 0,
          .total = attrs.GetDouble("total"),
          .eps = attrs.GetDouble("eps")};
}

// The order of choice: falling, NaN before everything, so that a bad router shows in the loss and
// the order is total.
inline bool RanksAbove(double a, double b) { return a > b || (std::isnan(a) && !std::isnan(b)); }

}  // namespace trireme

#endif  // TRIREME_KERNELS_OPS_ROUTE_ROUTING_H_
