// Joins the sections, and says which keys belong to which architecture.
#include "common/config/keys.h"

#include <algorithm>
#include <iterator>

namespace trireme {

const std::vector<JobKey>& JobKeys() {
  static const auto* const keys = [] {
    auto* all = new std::vector<JobKey>();
    for (const auto section :
         {NameKeys, ModelKeys, ExpertKeys, MoeKeys, DataKeys, TrainKeys, OptimizerKeys,
          ScheduleKeys, PrecisionKeys, MeshKeys, TensorParallelKeys, ContextParallelKeys, ZeroKeys,
          PipelineKeys, CompressionKeys, NetworkKeys, TraceKeys, CheckpointKeys}) {
      for (JobKey& key : section()) all->push_back(std::move(key));
    }
    return all;
  }();
  return *keys;
}

bool BelongsTo(const JobKey& key, std::string_view type) {
  return key.types.empty() ||
         std::find(key.types.begin(), key.types.end(), type) != key.types.end();
}

std::string NotAKeyOf(const JobKey& key, const std::string& type) {
  std::string others;
  for (const JobKey& other : JobKeys()) {
    if (key.quantity.empty() || other.quantity != key.quantity || !BelongsTo(other, type)) continue;
    others += (others.empty() ? "it has " : " and ") + other.path.substr(other.path.rfind('.') + 1);
  }
  if (others.empty()) {
    for (const std::string& one : key.types) others += (others.empty() ? "" : ", ") + one;
    others = (key.types.size() == 1 ? "only the type with it is " : "types with it: ") + others;
  }
  return "not a key of " + type + "; " + others;
}

}  // namespace trireme
