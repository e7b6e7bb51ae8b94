// Evaluates a program's index maps for one rank.
#include "common/plan/resolve.h"

#include <algorithm>

#include "common/base/check.h"

namespace trireme {
namespace {

ResolvedOperand ResolveView(const View& view, const Instance& instance,
                            const std::vector<int64_t>& coordinates) {
  const Place& place = instance.places[view.binding];
  ResolvedOperand operand;
  operand.pool = place.pool;
  operand.byte_offset = place.offset + view.offset.Evaluate(coordinates) * SizeOf(view.dtype);
  operand.sizes = view.sizes;
  operand.strides = view.strides;
  operand.dtype = view.dtype;
  return operand;
}

}  // namespace

std::vector<ResolvedInstruction> Resolve(const StageProgram& program, Phase phase, int chunk,
                                         const Mesh& mesh, int64_t rank) {
  const std::vector<int64_t> coordinates = mesh.Coordinates(rank);
  std::vector<std::vector<int32_t>> group_ranks;
  for (const Group& group : program.groups) {
    group_ranks.push_back(GroupRanksOf(group, mesh, rank));
  }
  std::vector<ResolvedInstruction> resolved;
  for (const Instance& instance : program.instances(phase, chunk)) {
    const SegmentCode& code = program.codes[instance.code];
    CHECK_EQ(instance.places.size(), code.bindings.size()) << code.name;
    for (const Instruction& source : code.instructions) {
      ResolvedInstruction instruction;
      instruction.source = &source;
      instruction.attrs = source.attrs;
      for (const auto& [name, map] : source.index_attrs) {
        instruction.attrs.Set(name, map.Evaluate(coordinates));
      }
      for (const View& view : source.in) {
        instruction.in.push_back(ResolveView(view, instance, coordinates));
      }
      for (const View& view : source.out) {
        instruction.out.push_back(ResolveView(view, instance, coordinates));
      }
      for (const View& view : source.predicate) {
        instruction.predicate.push_back(ResolveView(view, instance, coordinates));
      }
      if (source.group >= 0) instruction.group = group_ranks[source.group];
      resolved.push_back(std::move(instruction));
    }
  }
  return resolved;
}

int64_t GroupSize(const Group& group, const Mesh& mesh) {
  const int64_t all = mesh.GroupSize({group.axes.begin(), group.axes.end()});
  if (group.members.empty()) return all;
  return all / mesh.axis(group.axes[0]).size * static_cast<int64_t>(group.members.size());
}

std::vector<int32_t> GroupRanksOf(const Group& group, const Mesh& mesh, int64_t rank) {
  const std::vector<int> axes(group.axes.begin(), group.axes.end());
  std::vector<int32_t> ranks;
  for (const int64_t member : mesh.GroupMembers(rank, axes)) {
    if (!group.members.empty()) {
      const int64_t coordinate = mesh.Coordinates(member)[axes.at(0)];
      if (std::find(group.members.begin(), group.members.end(), coordinate) ==
          group.members.end()) {
        continue;
      }
    }
    ranks.push_back(static_cast<int32_t>(member));
  }
  return ranks;
}

int64_t ArenaOffset(const StageProgram& program, const ResolvedOperand& operand, int slot) {
  return ArenaOffset(program, Place{operand.pool, operand.byte_offset}, slot);
}

int64_t ArenaOffset(const StageProgram& program, const Place& place, int slot) {
  int64_t offset = program.PoolOffset(place.pool) + place.offset;
  if (IsSlotted(place.pool) && slot > 0) offset += slot * program.SlotBytes(place.pool);
  return offset;
}

}  // namespace trireme
