// Checks a node's operands against a signature and names their dims, so that an op's Infer is a few
// lines.
//
// A signature lists the inputs in order: name, element type, dims. Each word in the brackets stands
// for one dim; the same word in two operands asks for the same dim name and size. "..." stands for
// any number of leading dims, the same ones wherever it appears.
//   "x:float[...,embed] w:float[vocab,embed] targets:int32[...]"
// Types: float (float32 or float64), float32, float64, int32, any.
#ifndef TRIREME_KERNELS_OPS_SIGNATURE_H_
#define TRIREME_KERNELS_OPS_SIGNATURE_H_

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/ir/graph.h"
#include "kernels/ops/infer_util.h"

namespace trireme {

// What the words of a signature stand for in one node.
class Binding {
 public:
  // Dims of a pattern over the signature's words. Example: Dims("...,embed"); Dims("") is a
  // scalar's.
  std::vector<Dim> Dims(std::string_view pattern) const;
  const Dim& dim(std::string_view word) const;
  // Dims that "..." stands for.
  const std::vector<Dim>& leading() const { return leading_; }

 private:
  friend class SignatureReader;
  std::map<std::string, Dim, std::less<>> words_;
  std::vector<Dim> leading_;
  bool has_leading_ = false;
};

// Errors: kInvalidArgument naming the op, the operand, and what it has and should have.
StatusOr<Binding> BindOperands(const Graph& graph, const Node& node, std::string_view signature);

// Names of dims, in order.
std::vector<std::string> DimNames(const std::vector<Dim>& dims);

}  // namespace trireme

#endif  // TRIREME_KERNELS_OPS_SIGNATURE_H_
