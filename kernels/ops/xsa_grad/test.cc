// xsa_grad: shardings (heads split, kv_heads whole: a partial sum), odd sizes, errors; its values
// are checked by xsa's gradient.
#include <gtest/gtest.h>

#include "kernels/testing/op_case.h"

namespace trireme {
namespace {

OpCase Case(int64_t batch, int64_t position, int64_t heads, int64_t kv_heads, int64_t head_dim) {
  const Dim b{"batch", batch}, p{"position", position}, d{"head_dim", head_dim};
  const std::vector<Dim> y{b, p, {"heads", heads}, d};
  return {.op = "xsa_grad",
          .attrs = {{"query_group", heads / kv_heads}},
          .inputs = {Normal(y), Normal(y), Normal({b, p, {"kv_heads", kv_heads}, d})}};
}

TEST(XsaGrad, EverySharding) {
  CheckEverySharding(Case(2, 6, 12, 6, 4));
  CheckEverySharding(Case(1, 1, 6, 1, 3));
}

TEST(XsaGrad, CpuMatchesReference) {
  // Not one element a head: nothing but rounding would be left of it.
  CheckCpuMatchesReference(Case(1, 1, 1, 1, 2), 1e-4);
  CheckCpuMatchesReference(Case(2, 3, 6, 3, 5), 1e-4);
  CheckCpuMatchesReference(Case(3, 33, 8, 2, 64), 1e-4);
}

TEST(XsaGrad, RefusesAGradientOfOtherDims) {
  OpCase c = Case(1, 2, 4, 2, 3);
  c.inputs[0] = c.inputs[2];
  ExpectInferError(c, "must have dims [batch 1, position 2, heads 4, head_dim 3]");
}

}  // namespace
}  // namespace trireme
