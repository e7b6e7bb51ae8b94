// Checks that the rules of the router's ops share.
#ifndef TRIREME_KERNELS_OPS_ROUTE_ROUTING_RULES_H_
#define TRIREME_KERNELS_OPS_ROUTE_ROUTING_RULES_H_

#include <string>

#include "kernels/ops/infer_util.h"

namespace trireme {

// Attribute score is softmax or sigmoid.
inline Status CheckScore(const Node& node) {
  RETURN_IF_ERROR(CheckAttrs(node, {"score"}));
  const std::string& score = node.attrs.GetString("score");
  if (score == "softmax" || score == "sigmoid") return absl::OkStatus();
  return OpError(node, "score=" + score + " must be softmax or sigmoid");
}

// Attribute bias_to is none, logits or scores.
inline Status CheckBiasTo(const Node& node) {
  RETURN_IF_ERROR(CheckAttrs(node, {"bias_to"}));
  const std::string& to = node.attrs.GetString("bias_to");
  if (to == "none" || to == "logits" || to == "scores") return absl::OkStatus();
  return OpError(node, "bias_to=" + to + " must be none, logits or scores");
}

// Attribute k is between 1 and the number of experts.
inline Status CheckChoices(const Node& node, int64_t num_experts) {
  RETURN_IF_ERROR(CheckAttrs(node, {"k"}));
  const int64_t k = node.attrs.GetInt("k");
  if (k >= 1 && k <= num_experts) return absl::OkStatus();
  return OpError(node, "k=" + std::to_string(k) + " must be between 1 and the " +
                           std::to_string(num_experts) + " experts");
}

// Attribute group (batch rows in a balance group) divides the batch.
inline Status CheckGroup(const Node& node, int64_t batch) {
  RETURN_IF_ERROR(CheckAttrs(node, {"group"}));
  const int64_t group = node.attrs.GetInt("group");
  if (group >= 1 && batch % group == 0) return absl::OkStatus();
  return OpError(node, "balance groups of " + std::to_string(group) +
                           " sequences do not divide a batch of " + std::to_string(batch) +
                           "; choose a divisor of it");
}

}  // namespace trireme

#endif  // TRIREME_KERNELS_OPS_ROUTE_ROUTING_RULES_H_
