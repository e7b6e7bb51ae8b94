// layer_norm_grad: shardings, accumulation, odd sizes, errors; its values are checked by
// layer_norm's gradient.
#include <gtest/gtest.h>

#include "kernels/testing/op_case.h"

namespace trireme {
namespace {

OpCase Case(int64_t batch, int64_t position, int64_t embed) {
  const std::vector<Dim> rows{{"batch", batch}, {"position", position}};
  const std::vector<Dim> x{rows[0], rows[1], {"embed", embed}};
  return {
      .op = "layer_norm_grad",
      .inputs = {Normal(x), Normal(x), Positive({{"embed", embed}}), Normal(rows), Positive(rows)}};
}

TEST(LayerNormGrad, EverySharding) { CheckEverySharding(Case(2, 6, 6)); }

TEST(LayerNormGrad, CpuMatchesReference) {
  CheckCpuMatchesReference(Case(1, 1, 1), 1e-5);
  CheckCpuMatchesReference(Case(3, 5, 7), 1e-5);
  CheckCpuMatchesReference(Case(2, 33, 129), 1e-4);
  CheckCpuMatchesReference(Case(1, 3, 1025), 1e-4);
  CheckCpuMatchesReference(Case(1, 37, 33), 1e-4);
}

TEST(LayerNormGrad, RefusesStatisticsOfOtherRows) {
  OpCase c = Case(2, 3, 4);
  c.inputs[4] = Positive({{"batch", 2}});
  ExpectInferError(c, "must have dims [batch 2, position 3]");
}

}  // namespace
}  // namespace trireme
