// dot: values, gradient and shardings of the products that models use, odd sizes, errors.
#include <gtest/gtest.h>

#include "kernels/testing/op_case.h"

namespace trireme {
namespace {

OpCase Case(const std::string& equation, const std::vector<Dim>& a, const std::vector<Dim>& b) {
  return {.op = "dot", .attrs = {{"equation", equation}}, .inputs = {Normal(a), Normal(b)}};
}

// Projection, weight gradient, batched, transposed, several contracted dims, no contracted dim.
std::vector<OpCase> Cases(int64_t n, int64_t m, int64_t k) {
  const Dim batch{"batch", n}, position{"position", m}, embed{"embed", k}, mlp{"mlp", m + 1};
  const Dim heads{"heads", n}, size{"head_dim", k}, keys{"key_position", k};
  return {Case("abc,cd->abd", {batch, position, embed}, {embed, mlp}),
          Case("abc,abd->cd", {batch, position, embed}, {batch, position, mlp}),
          Case("abc,dc->abd", {batch, position, embed}, {mlp, embed}),
          Case("abcd,cde->abe", {batch, position, heads, size}, {heads, size, embed}),
          Case("abcd,aecd->acbe", {batch, position, heads, size}, {batch, keys, heads, size}),
          Case("eab,ebc->eac", {batch, position, embed}, {batch, embed, mlp}),
          Case("a,b->ab", {batch}, {embed}),
          Case("ab,ab->", {batch, embed}, {batch, embed})};
}

TEST(Dot, MultipliesMatrices) {
  const OpCase c{.op = "dot",
                 .attrs = {{"equation", "ab,bc->ca"}},
                 .inputs = {Given({{"m", 2}, {"k", 2}}, DType::kFloat32, {1, 2, 3, 4}),
                            Given({{"k", 2}, {"n", 1}}, DType::kFloat32, {10, 1})}};
  EXPECT_EQ(RunOp(c, MakeInputs(c))[0].Values(), std::vector<double>({12, 34}));
}

TEST(Dot, Gradient) {
  for (const OpCase& c : Cases(2, 3, 4)) CheckGradient(c);
}

TEST(Dot, EverySharding) {
  for (const OpCase& c : Cases(2, 3, 6)) CheckEverySharding(c);
}

TEST(Dot, CpuMatchesReference) {
  for (const OpCase& c : Cases(1, 1, 1)) CheckCpuMatchesReference(c, 1e-5);
  for (const OpCase& c : Cases(3, 5, 7)) CheckCpuMatchesReference(c, 1e-5);
  for (const OpCase& c : Cases(2, 17, 33)) CheckCpuMatchesReference(c, 1e-5);
}

TEST(Dot, CostCountsMultiplicationsAndAdditions) {
  Graph graph;
  Node node{.op = "dot", .attrs = {{"equation", "abc,cd->abd"}}};
  const Dim a{"a", 2}, b{"b", 3}, k{"c", 5}, d{"d", 7};
  node.inputs = {graph.AddValue({.dims = {a, b, k}}), graph.AddValue({.dims = {k, d}})};
  node.outputs = {graph.AddValue({.dims = {a, b, d}})};
  const OpCost cost = FindRule("dot").cost(graph, node);
  EXPECT_EQ(cost.flops, 2 * 2 * 3 * 5 * 7);
  EXPECT_EQ(cost.bytes, 4 * (2 * 3 * 5 + 5 * 7 + 2 * 3 * 7));
}

TEST(Dot, RefusesWhatDoesNotFit) {
  const Dim m{"m", 2}, k{"k", 3}, n{"n", 4};
  ExpectInferError(Case("ab,bc", {m, k}, {k, n}), "must look like");
  ExpectInferError(Case("ab,bc->ac", {m, k}, {{"k", 5}, n}), "letter b");
  ExpectInferError(Case("ab,cd->ad", {m, k}, {k, n}), "letter b");
  ExpectInferError(Case("abc,cd->abd", {m, k}, {k, n}), "must have 3 dims");
  ExpectInferError(Case("aa,ab->ab", {m, m}, {m, n}), "letter a");
}

}  // namespace
}  // namespace trireme
