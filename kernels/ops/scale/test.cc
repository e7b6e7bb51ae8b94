// scale: gradient, shardings, odd sizes, errors.
#include <gtest/gtest.h>

#include "kernels/testing/op_case.h"

namespace trireme {
namespace {

OpCase Case(int64_t n, int64_t m) {
  return {.op = "scale",
          .attrs = {{"factor", -0.75}},
          .inputs = {Normal({{"batch", n}, {"embed", m}})}};
}

TEST(Scale, Gradient) { CheckGradient(Case(2, 3)); }

TEST(Scale, EverySharding) { CheckEverySharding(Case(2, 6)); }

TEST(Scale, CpuMatchesReference) {
  CheckCpuMatchesReference(Case(1, 1), 1e-6);
  CheckCpuMatchesReference(Case(5, 7), 1e-6);
  CheckCpuMatchesReference(Case(65, 129), 1e-6);
}

TEST(Scale, NeedsAFactor) {
  OpCase c = Case(2, 3);
  c.attrs = {};
  ExpectInferError(c, "needs the attribute factor");
}

}  // namespace
}  // namespace trireme
