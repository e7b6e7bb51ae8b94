// The state of one partitioning: the source graph on its way to the graph of one rank. Ordinary
// nodes are in partition.cc, what the rules' expansions ask for in expand.cc.
#ifndef TRIREME_COORDINATOR_COMPILER_PARTITION_PARTITIONER_H_
#define TRIREME_COORDINATOR_COMPILER_PARTITION_PARTITIONER_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "coordinator/compiler/partition/node_sharding.h"
#include "coordinator/compiler/partition/partition.h"
#include "coordinator/compiler/partition/resharder.h"
#include "kernels/ops/rule.h"

namespace trireme {

class Partitioner : public ExpandContext {
 public:
  Partitioner(const Graph& source, DimAxes& dim_axes, const PartitionOptions& options)
      : source_(source),
        axes_(dim_axes),
        options_(options),
        mesh_(dim_axes.mesh()),
        resharder_(mesh_, result_.graph, {options.keep_gathered, options.flat_dcn}),
        local_of_(source.values.size(), -1) {}

  StatusOr<PartitionedSegment> Run();

  std::vector<int> AddPartial(const std::string& op, const Attrs& attrs,
                              const std::vector<int>& inputs, const std::string& dim,
                              const std::vector<ReduceKind>& kinds) override;
  std::vector<int> Add(const std::string& op, const Attrs& attrs,
                       const std::vector<int>& inputs) override;
  int Resolve(int value) override;
  int Local(int value) override;
  int64_t RingSize(const std::string& dim) override;
  int Pass(int value, const std::string& dim) override;
  int RingBlock(int value, const std::string& dim, int64_t shift) override;
  void InRegion(const std::string& region) override { current_->region = region; }
  int Enter(int value, const std::string& region,
            const std::vector<std::pair<std::string, std::string>>& dims) override;
  std::vector<int> AddInto(const std::string& op, const Attrs& attrs,
                           const std::vector<int>& inputs, const std::vector<int>& into) override;
  int Largest(int value, const std::string& apart) override;
  void When(int value, int above) override;

 private:
  Graph& out() { return result_.graph; }
  void Pad(std::vector<Dim>& dims) const;
  Status AddBoundValues();
  Status AddTensor(const LogicalTensor& tensor);
  Status Visit(const Node& node);
  Status VisitView(const Node& node);
  StatusOr<int> Operand(int value, const Sharding& required, Phase phase);
  int ViewLike(int value, int like, Phase phase);
  std::vector<int> AxesOf(const std::string& dim);
  void Fail(const Status& status) {
    if (status_.ok()) status_ = status;
  }
  void KeepOrigins(const Node& node, const NodeSharding& sharding, int output);
  StatusOr<std::vector<int>> Emit(const Node& node);
  Status FinishEdges();
  Status FinishGradient(int tensor);
  void Contribute(const Contribution& contribution);
  Status GatherOnce(int value, const Sharding& required, int* gathered);

  const Graph& source_;
  DimAxes& axes_;
  const PartitionOptions& options_;
  const Mesh& mesh_;
  PartitionedSegment result_;
  Resharder resharder_;
  std::vector<int> local_of_;                 // local value id by source value id
  std::map<int, SumOrigins> origins_;         // by local value
  std::map<int, int> viewed_;                 // local value that a local view shows
  std::map<std::pair<int, int>, int> views_;  // what ViewLike made, by value and like
  Node* current_ = nullptr;                   // node being expanded
  size_t when_from_ = 0;                      // first node that `current_`'s predicate governs
  Status status_;                             // first error inside an expansion
};

}  // namespace trireme

#endif  // TRIREME_COORDINATOR_COMPILER_PARTITION_PARTITIONER_H_
