// Joins the sections.
#include "common/config/keys.h"

#include <iterator>

namespace trireme {

const std::vector<JobKey>& JobKeys() {
  static const auto* const keys = [] {
    auto* all = new std::vector<JobKey>();
    for (const auto section :
         {NameKeys, ModelKeys, DataKeys, TrainKeys, OptimizerKeys, ScheduleKeys, PrecisionKeys,
          MeshKeys, TensorParallelKeys, ContextParallelKeys, ZeroKeys, PipelineKeys,
          CompressionKeys, NetworkKeys, TraceKeys, CheckpointKeys}) {
      for (JobKey& key : section()) all->push_back(std::move(key));
    }
    return all;
  }();
  return *keys;
}

}  // namespace trireme
