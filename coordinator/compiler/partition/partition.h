// Mesh + mappings -> the graph of one rank. Every value gets a sharding (looked up by region and
// dim, never propagated or searched), partial sums pass through linear ops and are resolved at the
// last linear point, and where two shardings disagree the cheapest collectives are inserted as
// nodes: "slice", "all_gather", "reduce_scatter", "all_reduce", "all_to_all", with attributes axes,
// dim, to_dim and kind.
#ifndef TRIREME_COORDINATOR_COMPILER_PARTITION_PARTITION_H_
#define TRIREME_COORDINATOR_COMPILER_PARTITION_PARTITION_H_

#include <set>
#include <string>
#include <vector>

#include "common/config/job_spec.h"
#include "coordinator/compiler/partition/dim_axes.h"

namespace trireme {

// How one tensor of a segment is stored.
struct TensorShardings {
  Sharding param;        // PARAM
  Sharding optimizer;    // STATE and the reduced gradient
  Sharding accumulator;  // GRAD: what is added up over microbatches; may be partial over axes
                         // resolved once a step
};

struct PartitionOptions {
  GatherPolicy gather = GatherPolicy::kUse;
  ReducePolicy reduce_ici = ReducePolicy::kMicrobatch;
  ReducePolicy reduce_dcn = ReducePolicy::kStep;
  int64_t num_microbatches = 1;
  bool keep_gathered = false;  // activations gathered for the forward are kept for the backward
  bool flat_dcn = false;       // sums between slices are not parted into levels
  // Sums between slices wait for the end of the step, to be compressed.
  bool compress_dcn = false;
  std::vector<int> stage_axes;  // axes that number stages: never counted as replication
  // Tensors that several segments share: their gradients meet in one accumulator, so all are
  // reduced every microbatch.
  std::set<std::string> shared_tensors;
};

struct PartitionedSegment {
  Graph graph;  // local: shardings set, dims padded; F, B and (gather once a step) G nodes
  std::vector<TensorShardings> tensors;
};

// `graph` may hold F nodes only or F and B. Gradients are added into kGrad values; loss sums go to
// the "reduce" scalars. Errors: kInvalidArgument naming the tensor or op, the dims and the way out.
StatusOr<PartitionedSegment> Partition(const Graph& graph, DimAxes& dim_axes,
                                       const PartitionOptions& options);

}  // namespace trireme

#endif  // TRIREME_COORDINATOR_COMPILER_PARTITION_PARTITION_H_
