// dot: values, gradient and shardings of the products that models use, odd sizes, strided
// views, errors.
#include <gtest/gtest.h>

#include <array>

#include "kernels/ops/kernel.h"
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

// `dense` inside memory that is larger in every dim but the first: `gap` elements more in dim 1,
// and in the last dim where there are three or more. The rest is `kOutside`.
constexpr double kOutside = -77;
struct Strided {
  HostTensor memory;
  Tensor view;
};
Strided Widened(const HostTensor& dense, int64_t gap) {
  std::vector<int64_t> sizes = dense.sizes();
  if (sizes.size() >= 2) sizes[1] += gap;
  if (sizes.size() >= 3) sizes.back() += gap;
  Strided result{.memory = HostTensor(dense.dtype(), sizes)};
  result.memory.Fill(kOutside);
  result.view = result.memory.view();
  result.view.sizes = dense.sizes();
  for (int64_t i = 0; i < dense.count(); ++i) {
    result.memory.Set(StridedOffset(result.view, i), dense.Get(i));
  }
  return result;
}

// Runs the case with each operand dense or widened (bits of `widen`: a, b, out) over an output that
// holds `start`; compares with `expected` and looks for writes outside the view.
void CheckViews(const OpCase& c, int widen, const RunOptions& options, const HostTensor& start,
                const HostTensor& expected) {
  const std::vector<HostTensor> inputs = MakeInputs(c);
  const Strided a = Widened(inputs[0], (widen & 1) != 0 ? 3 : 0);
  const Strided b = Widened(inputs[1], (widen & 2) != 0 ? 2 : 0);
  const Strided out = Widened(start, (widen & 4) != 0 ? 5 : 0);
  Stream stream{.num_threads = options.num_threads};
  const std::vector<Tensor> in{a.view, b.view}, outs{out.view};
  const OpKernels& kernels = FindKernels("dot");
  (options.cpu ? kernels.cpu : kernels.reference)({.stream = stream,
                                                   .attrs = c.attrs,
                                                   .in = in,
                                                   .out = outs,
                                                   .accumulate = options.accumulate});
  HostTensor actual = expected;
  HostTensor rest = out.memory;
  for (int64_t i = 0; i < actual.count(); ++i) {
    actual.Set(i, out.memory.Get(StridedOffset(out.view, i)));
    rest.Set(StridedOffset(out.view, i), kOutside);
  }
  const std::string what = c.attrs.ToText() + (options.cpu ? " cpu" : " reference") + " widened " +
                           std::to_string(widen) + " accumulate " +
                           std::to_string(static_cast<int>(options.accumulate));
  EXPECT_EQ(Difference(expected, actual, 1e-5), "") << what;
  for (int64_t i = 0; i < rest.count(); ++i) {
    ASSERT_EQ(rest.Get(i), kOutside) << what << ": writes outside its view at " << i;
  }
}

// Every combination of strided operands gives what dense ones give, overwriting and adding, small
// (packed) and large enough to loop over the leading dim; and memory between rows is untouched.
TEST(Dot, OperandsMayBeStridedViews) {
  for (const auto& [n, m, k] : std::vector<std::array<int64_t, 3>>{{2, 3, 4}, {3, 17, 20}}) {
    for (const OpCase& c : Cases(n, m, k)) {
      const HostTensor product = RunOp(c, MakeInputs(c))[0];
      HostTensor start = product;
      for (int64_t i = 0; i < start.count(); ++i) start.Set(i, static_cast<double>(i % 7));
      HostTensor sum = product;
      for (int64_t i = 0; i < sum.count(); ++i) sum.Set(i, product.Get(i) + start.Get(i));
      for (int widen = 0; widen < 8; ++widen) {
        for (const bool add : {false, true}) {
          const HostTensor& expected = add ? sum : product;
          CheckViews(c, widen, {.accumulate = add}, start, expected);
          CheckViews(c, widen, {.cpu = true, .accumulate = add, .num_threads = widen == 7 ? 2 : 1},
                     start, expected);
        }
      }
    }
  }
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
