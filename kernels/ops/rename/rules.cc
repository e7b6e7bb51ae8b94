// Rule of rename: the same memory under other dim names, seen from another region: how the model
// crosses regions for free.
#include <algorithm>
#include <set>

#include "kernels/ops/graph_builder.h"
#include "kernels/ops/infer_util.h"

namespace trireme {
namespace {

// "from:to,from:to" as pairs. Errors: a piece without a colon.
StatusOr<std::vector<std::pair<std::string, std::string>>> ParsePairs(const Node& node) {
  const std::string& text = node.attrs.GetString("dims");
  std::vector<std::pair<std::string, std::string>> pairs;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::string piece = text.substr(begin, end - begin);
    const size_t colon = piece.find(':');
    if (colon == std::string::npos) {
      return OpError(node, "dims is " + text + ", must look like from:to,from:to");
    }
    pairs.emplace_back(piece.substr(0, colon), piece.substr(colon + 1));
    begin = end + 1;
  }
  return pairs;
}

StatusOr<std::vector<ValueType>> Infer(const Graph& graph, const Node& node) {
  RETURN_IF_ERROR(CheckCount(graph, node, 1));
  RETURN_IF_ERROR(CheckAttrs(node, {"dims", "from_region"}));
  ASSIGN_OR_RETURN(const auto pairs, ParsePairs(node));
  const Value& x = In(graph, node, 0);
  std::vector<Dim> dims = x.dims;
  for (const auto& [from, to] : pairs) {
    const int d = FindDim(x.dims, from);
    if (d < 0) return OperandError(graph, node, 0, "has no dim " + from + " to rename");
    dims[d].name = to;
  }
  std::set<std::string> names;
  for (const Dim& dim : dims) {
    if (names.insert(dim.name).second) continue;
    return OperandError(graph, node, 0, "would have two dims called " + dim.name);
  }
  return std::vector<ValueType>{{dims, x.dtype}};
}

void Grad(GradArgs& args) {
  if (args.output_grads[0] < 0) return;
  std::vector<std::pair<std::string, std::string>> back;
  const StatusOr<std::vector<std::pair<std::string, std::string>>> pairs = ParsePairs(args.node);
  for (const auto& [from, to] : *pairs) back.emplace_back(to, from);
  args.input_grads[0] = args.builder.Rename(
      args.output_grads[0], args.node.attrs.GetString("from_region"), back, GradName(args, 0));
}

}  // namespace

OpRule Rule_rename() {
  return {.name = "rename",
          .infer = Infer,
          .linearity = Linearity::kJoint,
          .is_view = true,
          .grad = Grad};
}

}  // namespace trireme
