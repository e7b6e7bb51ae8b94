// Rule of embed_lookup: rows of a table chosen by ids. The table may be split by rows: a rank gives
// 0 for ids it does not hold, so the result is a partial sum.
#include "kernels/ops/graph_builder.h"
#include "kernels/ops/infer_util.h"

namespace trireme {
namespace {

StatusOr<std::vector<ValueType>> Infer(const Graph& graph, const Node& node) {
  RETURN_IF_ERROR(CheckCount(graph, node, 2));
  RETURN_IF_ERROR(CheckRank(graph, node, 0, 2));
  RETURN_IF_ERROR(CheckFloat(graph, node, 0));
  RETURN_IF_ERROR(CheckDType(graph, node, 1, DType::kInt32));
  const Value& table = In(graph, node, 0);
  std::vector<Dim> dims = In(graph, node, 1).dims;
  dims.push_back(table.dims[1]);
  return std::vector<ValueType>{{dims, table.dtype}};
}

void Grad(GradArgs& args) {
  if (args.output_grads[0] < 0) return;
  const Dim rows = In(args.builder.graph(), args.node, 0).dims[0];
  args.input_grads[0] =
      args.builder.Add1("embed_grad", {{"dim", rows.name}, {"size", rows.size}},
                        {args.output_grads[0], args.node.inputs[1]}, GradName(args, 0));
}

std::vector<IndexAttr> Index(const Graph& graph, const Node& node) {
  return {{"vocab_start", 0, In(graph, node, 0).dims[0].name}};
}

}  // namespace

OpRule Rule_embed_lookup() {
  return {.name = "embed_lookup", .infer = Infer, .grad = Grad, .index_attrs = Index};
}

}  // namespace trireme
