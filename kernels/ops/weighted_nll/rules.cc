// loss = sum_t weight_t * (lse_t - target_logit_t), a float64 scalar.
#include "kernels/ops/signature.h"

namespace trireme {
namespace {

StatusOr<std::vector<ValueType>> Infer(const Graph& graph, const Node& node) {
  RETURN_IF_ERROR(
      BindOperands(graph, node, "lse:float[...] target_logit:float[...] weights:float[...]")
          .status());
  return std::vector<ValueType>{{{}, DType::kFloat64}};
}

}  // namespace

OpRule Rule_weighted_nll() { return {.name = "weighted_nll", .infer = Infer}; }

}  // namespace trireme
