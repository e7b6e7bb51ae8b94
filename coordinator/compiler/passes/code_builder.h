// Collects the instructions of one phase of one segment: bindings, temporaries with their
// lifetimes, views of values.
#ifndef TRIREME_COORDINATOR_COMPILER_PASSES_CODE_BUILDER_H_
#define TRIREME_COORDINATOR_COMPILER_PASSES_CODE_BUILDER_H_

#include <map>
#include <string>
#include <vector>

#include "common/ir/graph.h"
#include "common/plan/program.h"
#include "coordinator/compiler/passes/aliases.h"
#include "coordinator/compiler/passes/scratch.h"

namespace trireme {

// Where the values of a segment that outlive one phase are kept, the same for the code of every
// phase.
struct SegmentLayout {
  std::vector<Alias> aliases;  // by value
  std::map<int, std::string>
      binding;  // by root: memory the instance supplies whole ("edge_out:0", "param:2")
  std::map<int, int64_t> saved;            // by root: byte offset in binding "saved"
  std::map<int, int64_t> gathered;         // by root: byte offset in binding "gathered"
  std::map<int, int64_t> prefetched;       // by node: byte offset in binding "prefetch"
  std::map<int, int64_t> prefetched_root;  // by root: the same, where nothing has to be unpacked
  int64_t saved_bytes = 0;
  int64_t gathered_bytes = 0;
  int64_t prefetch_bytes = 0;
};

class CodeBuilder {
 public:
  // Borrows all three.
  CodeBuilder(const Graph& graph, const Mesh& mesh, const SegmentLayout& layout)
      : graph_(graph), mesh_(mesh), layout_(layout) {}

  // Dense view of a value in its local sizes. `scalar_offset` is added for the scalar block.
  View ViewOf(int value, int64_t scalar_offset = 0);
  // Dense view of what a prefetched gather receives: blocks of the members one after the other.
  View PrefetchView(const Node& node, const std::vector<int64_t>& sizes, DType dtype);
  // Dense view of a new temporary.
  View NewTemp(const std::vector<int64_t>& sizes, DType dtype);
  std::vector<int64_t> LocalSizesOf(int value) const;

  // What is appended from now on runs only where `predicate` is more than `above` (-1: always).
  void When(int predicate, int above);
  void Append(Instruction instruction);
  int32_t GroupIndex(const Group& group);  // index into groups(), added once

  // Lays out scratch and rewrites temporaries to binding "scratch". `scratch_bytes` grows to what
  // this code needs.
  SegmentCode Finish(const std::string& name, Phase phase, int64_t* scratch_bytes);

  std::vector<Group>& groups() { return groups_; }
  const Mesh& mesh() const { return mesh_; }
  const Graph& graph() const { return graph_; }
  // The same memory already: nothing has to move.
  bool SameMemory(int a, int b) const;

 private:
  int Binding(const std::string& name);
  View PlaceRoot(int root, IndexMap offset, const std::vector<int64_t>& sizes, DType dtype);
  int TempOf(int root);
  void KeepWhileInFlight();

  const Graph& graph_;
  const Mesh& mesh_;
  const SegmentLayout& layout_;
  SegmentCode code_;
  std::map<std::string, int> bindings_;
  std::vector<Lifetime> temps_;  // a view's binding -1 - i names temporary i until Finish
  std::map<int, int> temp_of_root_;
  std::vector<Group> groups_;
  std::vector<View> predicate_;
  int32_t above_ = 0;
};

}  // namespace trireme

#endif  // TRIREME_COORDINATOR_COMPILER_PASSES_CODE_BUILDER_H_
