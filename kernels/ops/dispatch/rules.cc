// Gathers each expert's tokens into rows of static size. Each rank that holds some of the experts
// needs all tokens here, so only the expert dim may be split. Attributes num_experts and capacity
// (slots an expert) are global.
#include "kernels/ops/graph_builder.h"
#include "kernels/ops/signature.h"

namespace trireme {
namespace {

StatusOr<std::vector<ValueType>> Infer(const Graph& graph, const Node& node) {
  ASSIGN_OR_RETURN(const Binding dims,
                   BindOperands(graph, node, "x:float[...,embed] ids:int32[...,choice]"));
  RETURN_IF_ERROR(CheckAttrs(node, {"num_experts", "capacity"}));
  const int64_t num_experts = node.attrs.GetInt("num_experts");
  const int64_t capacity = node.attrs.GetInt("capacity");
  if (num_experts < 1 || capacity < 1) {
    return OpError(node, "num_experts=" + std::to_string(num_experts) +
                             " and capacity=" + std::to_string(capacity) + " must be at least 1");
  }
  const Dim expert = {.name = "expert", .size = num_experts};
  const Dim slot = {.name = "slot", .size = capacity};
  return std::vector<ValueType>{{{expert, slot, dims.dim("embed")}, In(graph, node, 0).dtype},
                                {{expert, slot}, DType::kInt32}};
}

// Batch may be split when slot is split alike: each shard of the batch fills its own slots, and its
// index counts its own tokens. Everything else the index depends on is whole.
std::vector<std::string> Whole(const Graph& graph, const Node& node) {
  std::vector<std::string> names = DimNames(In(graph, node, 0).dims);
  names.erase(names.begin());
  names.push_back(In(graph, node, 1).dims.back().name);
  return names;
}

void Grad(GradArgs& args) {
  const int rows_grad = args.output_grads[0];
  if (rows_grad < 0) return;
  args.input_grads[0] =
      args.builder.Add1("dispatch_grad", {}, {rows_grad, args.node.outputs[1], args.node.inputs[1]},
                        GradName(args, 0));
}

std::vector<IndexAttr> IndexAttrs(const Graph&, const Node&) {
  return {{"expert_start", /*operand=*/2, "expert"}};
}

}  // namespace

OpRule Rule_dispatch() {
  return {
      .name = "dispatch", .infer = Infer, .whole = Whole, .grad = Grad, .index_attrs = IndexAttrs};
}

}  // namespace trireme
