// Each expert's rows of one wave's pool times its own matrix; slots without a row give 0.
// Attributes: wave, transposed (1: times the transpose of w), fill (expected filled part of the
// slots, for the cost).
#include "kernels/ops/dispatch_plan/check_wave.h"
#include "kernels/ops/graph_builder.h"
#include "kernels/ops/signature.h"

namespace trireme {
namespace {

StatusOr<std::vector<ValueType>> Infer(const Graph& graph, const Node& node) {
  RETURN_IF_ERROR(CheckAttrs(node, {"transposed", "fill"}));
  const bool transposed = node.attrs.GetInt("transposed") != 0;
  ASSIGN_OR_RETURN(const Binding dims, BindOperands(graph, node,
                                                    std::string("rows:float[shard,slot,in] ") +
                                                        (transposed ? "w:float[expert,out,in] "
                                                                    : "w:float[expert,in,out] ") +
                                                        "counts:int32[wave,token_shard,expert]"));
  RETURN_IF_ERROR(CheckWave(node, dims.dim("wave")));
  return std::vector<ValueType>{{dims.Dims("shard,slot,out"), In(graph, node, 0).dtype}};
}

std::vector<std::string> Whole(const Graph& graph, const Node& node) {
  return {In(graph, node, 2).dims[0].name};
}

void Grad(GradArgs& args) {
  const int dout = args.output_grads[0];
  if (dout < 0) return;
  const std::vector<int>& in = args.node.inputs;
  const bool transposed = args.node.attrs.GetInt("transposed") != 0;
  Attrs attrs = args.node.attrs;
  attrs.Set("transposed", int64_t{!transposed});
  args.input_grads[0] =
      args.builder.Add1("grouped_dot", attrs, {dout, in[1], in[2]}, GradName(args, 0));
  const Attrs grad_attrs = {{"wave", attrs.GetInt("wave")}, {"fill", attrs.GetDouble("fill")}};
  args.input_grads[1] = args.builder.Add1(
      "grouped_dot_grad", grad_attrs, {transposed ? dout : in[0], transposed ? in[0] : dout, in[2]},
      GradName(args, 1));
}

OpCost Cost(const Graph& graph, const Node& node) {
  const Value& out = graph.value(node.outputs[0]);
  const double in_size = static_cast<double>(In(graph, node, 0).dims[2].physical());
  return {.flops = 2 * Elements(out) * in_size * node.attrs.GetDouble("fill"),
          .bytes = OperandBytes(graph, node)};
}

}  // namespace

OpRule Rule_grouped_dot() {
  return {.name = "grouped_dot",
          .infer = Infer,
          .whole = Whole,
          .linearity = Linearity::kEach,
          .grad = Grad,
          .cost = Cost,
          .accumulating_outputs = {0}};
}

}  // namespace trireme
