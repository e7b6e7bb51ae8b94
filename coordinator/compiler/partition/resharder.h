// Inserts reshards into a local graph. A reshard of the same value to the same target in the same
// phase exists once.
#ifndef TRIREME_COORDINATOR_COMPILER_PARTITION_RESHARDER_H_
#define TRIREME_COORDINATOR_COMPILER_PARTITION_RESHARDER_H_

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "common/ir/graph.h"
#include "common/sharding/reshard.h"

namespace trireme {

class Resharder {
 public:
  struct Options {
    bool keep_gathered = false;  // the backward reads what the forward gathered of activations
    bool flat_dcn = false;       // see PlanReshard
  };
  // Borrows both.
  Resharder(const Mesh& mesh, Graph& graph, const Options& options)
      : mesh_(mesh), graph_(graph), options_(options) {}

  // The value with sharding `to` (in its own dim order), appending nodes of `phase` where needed.
  // `reason` is kept on each node.
  StatusOr<int> To(int value, const Sharding& to, Phase phase, const std::string& reason);

  // What is inserted between the two is forgotten after: it does not always run.
  void Remember() { remembered_ = cache_; }
  void Forget() { cache_ = remembered_; }

 private:
  std::string KeyOf(const Sharding& sharding) const;

  const Mesh& mesh_;
  Graph& graph_;
  const Options options_;
  std::map<std::tuple<int, std::string, Phase>, int> cache_;
  std::map<std::tuple<int, std::string, Phase>, int> remembered_;
};

}  // namespace trireme

#endif  // TRIREME_COORDINATOR_COMPILER_PARTITION_RESHARDER_H_
