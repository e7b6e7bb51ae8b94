// Blocks are alike, so dealing them one by one to the cheapest stage is optimal.
#include "coordinator/compiler/passes/split_stages.h"

#include <algorithm>

namespace trireme {
namespace {

std::vector<int64_t> DealBlocks(const Model& model, int64_t num_stages, int64_t blocks,
                                const std::vector<double>& costs) {
  const auto cost = [&](const ChainLink& link) {
    if (costs.empty()) return link.layer >= 0 ? 1.0 : 0.0;
    return costs[link.segment];
  };
  std::vector<double> load(num_stages, 0.0);
  double block = 0;
  bool before = true;
  for (const ChainLink& link : model.chain) {
    if (link.layer >= 0) {
      block = std::max(block, cost(link));
      before = false;
    } else {
      (before ? load.front() : load.back()) += cost(link);
    }
  }
  std::vector<int64_t> counts(num_stages, 1);
  for (double& l : load) l += block;
  for (int64_t i = num_stages; i < blocks; ++i) {
    const auto least = std::min_element(load.begin(), load.end()) - load.begin();
    ++counts[least];
    load[least] += block;
  }
  return counts;
}

}  // namespace

StatusOr<std::vector<std::pair<int, int>>> SplitStages(const Model& model, int64_t num_stages,
                                                       const std::vector<int64_t>& layers_per_stage,
                                                       const std::vector<double>& costs) {
  int64_t layers = 0;
  for (const ChainLink& link : model.chain) layers += link.layer >= 0 ? 1 : 0;
  std::vector<int64_t> counts = layers_per_stage;
  if (counts.empty()) {
    if (num_stages > layers) {
      return InvalidArgument("the mesh and pipeline.chunks_per_stage make " +
                             std::to_string(num_stages) + " stages but the model has only " +
                             std::to_string(layers) + " layers; use at most " +
                             std::to_string(layers));
    }
    counts = DealBlocks(model, num_stages, layers, costs);
  }
  if (static_cast<int64_t>(counts.size()) != num_stages) {
    return InvalidArgument("pipeline.layers_per_stage has " + std::to_string(counts.size()) +
                           " entries but the mesh and pipeline.chunks_per_stage make " +
                           std::to_string(num_stages) + " stages");
  }
  std::vector<std::pair<int, int>> stages;
  int at = 0;
  const int end = static_cast<int>(model.chain.size());
  for (int64_t s = 0; s < num_stages; ++s) {
    const int begin = at;
    while (at < end && model.chain[at].layer < 0) ++at;
    at += static_cast<int>(counts[s]);
    stages.emplace_back(begin, s == num_stages - 1 ? end : at);
  }
  return stages;
}

}  // namespace trireme
