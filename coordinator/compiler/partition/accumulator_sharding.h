// How gradients lie while they are added up over microbatches.
#ifndef TRIREME_COORDINATOR_COMPILER_PARTITION_ACCUMULATOR_SHARDING_H_
#define TRIREME_COORDINATOR_COMPILER_PARTITION_ACCUMULATOR_SHARDING_H_

#include <vector>

#include "coordinator/compiler/partition/partition.h"

namespace trireme {

// The gradient shardings for a tensor whose natural (unresolved) gradient is `natural`.
Sharding AccumulatorSharding(const Mesh& mesh, const std::vector<Dim>& dims,
                             const Sharding& natural, const Sharding& optimizer,
                             const PartitionOptions& options);

}  // namespace trireme

#endif  // TRIREME_COORDINATOR_COMPILER_PARTITION_ACCUMULATOR_SHARDING_H_
