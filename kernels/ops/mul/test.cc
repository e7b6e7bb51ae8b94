// mul: values, gradients also of the repeated operand, shardings, odd sizes, errors.
#include <gtest/gtest.h>

#include "kernels/testing/op_case.h"

namespace trireme {
namespace {

OpCase Case(const std::vector<Dim>& a, const std::vector<Dim>& b) {
  return {.op = "mul", .inputs = {Normal(a), Normal(b)}};
}

// b has the first dims of a.
OpCase Leading(const std::vector<Dim>& a, const std::vector<Dim>& b) {
  OpCase c = Case(a, b);
  c.attrs.Set("leading", int64_t{1});
  return c;
}

// Same dims; a vector over the last dim; a scalar; one number a row, a batch.
std::vector<OpCase> Cases(int64_t n, int64_t m, int64_t k) {
  const Dim batch{"batch", n}, position{"position", m}, embed{"embed", k};
  const std::vector<Dim> a{batch, position, embed};
  return {Case(a, a),
          Case(a, {position, embed}),
          Case(a, {embed}),
          Case(a, {}),
          Leading(a, {batch, position}),
          Leading(a, {batch}),
          Leading(a, a),
          Leading(a, {})};
}

TEST(Mul, RepeatsTheSmallerOperand) {
  const OpCase c{.op = "mul",
                 .inputs = {Given({{"n", 2}, {"m", 2}}, DType::kFloat32, {1, 2, 3, 4}),
                            Given({{"m", 2}}, DType::kFloat32, {10, 20})}};
  EXPECT_EQ(RunOp(c, MakeInputs(c))[0].Values(), std::vector<double>({10, 40, 30, 80}));
}

// Of two dims of equal size the attribute says which one b has.
TEST(Mul, RepeatsOverTheLastDimsWhenLeading) {
  OpCase c{.op = "mul",
           .attrs = {{"leading", int64_t{1}}},
           .inputs = {Given({{"n", 2}, {"m", 2}}, DType::kFloat32, {1, 2, 3, 4}),
                      Given({{"n", 2}}, DType::kFloat32, {10, 20})}};
  for (const bool cpu : {false, true}) {
    const HostTensor out = RunOp(c, MakeInputs(c), {.cpu = cpu})[0];
    EXPECT_EQ(out.Values(), std::vector<double>({10, 20, 60, 80})) << cpu;
  }
}

TEST(Mul, Gradient) {
  for (const OpCase& c : Cases(2, 3, 4)) CheckGradient(c);
}

TEST(Mul, EverySharding) {
  for (const OpCase& c : Cases(2, 3, 6)) CheckEverySharding(c);
}

TEST(Mul, CpuMatchesReference) {
  for (const OpCase& c : Cases(1, 1, 1)) CheckCpuMatchesReference(c, 1e-6);
  for (const OpCase& c : Cases(3, 5, 7)) CheckCpuMatchesReference(c, 1e-6);
  for (const OpCase& c : Cases(2, 65, 129)) CheckCpuMatchesReference(c, 1e-6);
}

TEST(Mul, RefusesDimsThatAreNotTheLastOrFirst) {
  const Dim batch{"batch", 2}, embed{"embed", 3};
  ExpectInferError(Leading({batch, embed}, {embed}),
                   "must be the first dims of [batch 2, embed 3]");
  ExpectInferError(Leading({embed}, {embed, batch}), "must be the first dims");
  ExpectInferError(Case({batch, embed}, {batch}), "must be the last dims of [batch 2, embed 3]");
  ExpectInferError(Case({batch, embed}, {{"embed", 4}}), "[embed 4]");
  ExpectInferError(Case({embed}, {batch, embed}), "must be the last dims");
}

}  // namespace
}  // namespace trireme
