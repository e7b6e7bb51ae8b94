// Writes nodes into a graph; output types come from the op's rule. Used by model builders,
// gradients and optimizers.
#ifndef TRIREME_KERNELS_OPS_GRAPH_BUILDER_H_
#define TRIREME_KERNELS_OPS_GRAPH_BUILDER_H_

#include <string>
#include <vector>

#include "common/ir/graph.h"
#include "kernels/ops/rule.h"

namespace trireme {

class GraphBuilder {
 public:
  // Borrows `graph` for the builder's lifetime. New nodes get `phase` and the current region.
  GraphBuilder(Graph& graph, Phase phase) : graph_(graph), phase_(phase) {}

  Graph& graph() { return graph_; }
  void SetRegion(std::string region) { region_ = std::move(region); }
  const std::string& region() const { return region_; }
  void SetPhase(Phase phase) { phase_ = phase; }

  // A value that the instance supplies. Edges are also listed in the graph's edges_in.
  int Input(const std::string& name, const std::vector<Dim>& dims, DType dtype);
  int EdgeIn(const std::string& name, const std::vector<Dim>& dims);
  int Param(const LogicalTensor& tensor);  // adds the tensor to the graph

  // Appends a node and returns its outputs. CHECK-fails when the op's Infer refuses (a bug of the
  // caller; job files are validated before). Value names are `name`, then name.1, name.2.
  std::vector<int> Add(const std::string& op, const Attrs& attrs, const std::vector<int>& inputs,
                       const std::string& name);
  int Add1(const std::string& op, const Attrs& attrs, const std::vector<int>& inputs,
           const std::string& name) {
    return Add(op, attrs, inputs, name)[0];
  }

  // einsum over named dims: dims shared by both and absent from `out_dims` are summed.
  int Dot(int a, int b, const std::vector<std::string>& out_dims, const std::string& name);
  // The same memory seen from `region`, dims renamed by pairs {from, to}.
  int Rename(int value, const std::string& region,
             const std::vector<std::pair<std::string, std::string>>& dims, const std::string& name);

 private:
  Graph& graph_;
  Phase phase_;
  std::string region_;
};

}  // namespace trireme

#endif  // TRIREME_KERNELS_OPS_GRAPH_BUILDER_H_
