// Sizes, addresses and text of programs and schedules. The text is what goldens compare, so it
// never depends on anything but the program.
#include "common/plan/program.h"

#include <algorithm>
#include <sstream>

#include "common/base/check.h"
#include "common/base/math.h"

namespace trireme {
namespace {

constexpr int64_t kAlignment = 64;

std::string JoinInts(const std::vector<int64_t>& values) {
  std::string text;
  for (size_t i = 0; i < values.size(); ++i) {
    text += (i > 0 ? "," : "") + std::to_string(values[i]);
  }
  return text;
}

std::string AxisName(const Mesh& mesh, int32_t axis) {
  if (0 <= axis && axis < mesh.num_axes()) return mesh.axis(axis).name;
  return "axis" + std::to_string(axis);
}

// "128+64*data"; "0" when empty.
std::string IndexText(const IndexMap& map, const Mesh& mesh) {
  std::string text;
  if (map.base != 0 || map.terms.empty()) text = std::to_string(map.base);
  for (const IndexMap::Term& term : map.terms) {
    if (!text.empty()) text += "+";
    text += std::to_string(term.stride) + "*";
    const std::string axis = AxisName(mesh, term.axis);
    text += term.modulus == 0 ? axis
                              : "((" + axis + "+" + std::to_string(term.shift) + ")%" +
                                    std::to_string(term.modulus) + ")";
  }
  return text;
}

// "x+64*model[8,16]", with ":(strides)" where it is not dense and the type where it is not float32.
std::string ViewText(const View& view, const SegmentCode& code, const Mesh& mesh) {
  const bool known = 0 <= view.binding && view.binding < static_cast<int>(code.bindings.size());
  std::string text = known ? code.bindings[view.binding] : "binding" + std::to_string(view.binding);
  if (view.offset.base != 0 || !view.offset.terms.empty()) {
    text += "+" + IndexText(view.offset, mesh);
  }
  text += "[" + JoinInts(view.sizes) + "]";
  if (view.strides != DenseStrides(view.sizes)) text += ":(" + JoinInts(view.strides) + ")";
  if (view.dtype != DType::kFloat32) text += ":" + std::string(Name(view.dtype));
  return text;
}

std::string ViewsText(const std::vector<View>& views, const SegmentCode& code, const Mesh& mesh) {
  std::string text;
  for (size_t i = 0; i < views.size(); ++i) {
    text += (i > 0 ? ", " : "") + ViewText(views[i], code, mesh);
  }
  return text;
}

std::string InstructionText(const Instruction& instruction, const SegmentCode& code,
                            const Mesh& mesh) {
  std::string text = ViewsText(instruction.out, code, mesh);
  text += instruction.accumulate ? " += " : " = ";
  if (instruction.async) text += "async ";
  if (!instruction.predicate.empty()) {
    text += "if " + ViewText(instruction.predicate[0], code, mesh) + " > " +
            std::to_string(instruction.above) + " ";
  }
  text += instruction.op + instruction.attrs.ToText();
  for (const auto& [name, map] : instruction.index_attrs) {
    text += " " + name + "=" + IndexText(map, mesh);
  }
  text += "(" + ViewsText(instruction.in, code, mesh) + ")";
  if (instruction.group >= 0) text += " over g" + std::to_string(instruction.group);
  if (instruction.workspace >= 0) text += " workspace " + std::to_string(instruction.workspace);
  if (!instruction.tensor.empty()) text += " of " + instruction.tensor;
  if (!instruction.reason.empty()) text += "  # " + instruction.reason;
  return text;
}

std::string PlaceText(const Place& place) {
  return std::string(Name(place.pool)) + "+" + std::to_string(place.offset);
}

std::string GroupText(const Group& group, const Mesh& mesh) {
  std::string text = "(";
  for (size_t i = 0; i < group.axes.size(); ++i) {
    text += (i > 0 ? ", " : "") + AxisName(mesh, group.axes[i]);
  }
  text += ") " + std::string(Name(group.fabric));
  if (!group.members.empty()) text += " members " + JoinInts(group.members);
  return text;
}

void AppendInstances(const StageProgram& program, const std::vector<Instance>& instances,
                     const std::string& phase, std::ostream& text) {
  for (const Instance& instance : instances) {
    const SegmentCode& code = program.codes[instance.code];
    text << phase << " " << code.name;
    if (instance.layer >= 0) text << " layer " << instance.layer;
    text << ":";
    for (size_t i = 0; i < instance.places.size(); ++i) {
      text << (i > 0 ? ", " : " ") << code.bindings[i] << "=" << PlaceText(instance.places[i]);
    }
    text << "\n";
  }
}

void AppendTensor(const TensorPlacement& tensor, const Mesh& mesh, std::ostream& text) {
  text << "tensor " << tensor.name << " " << ToText(tensor.dims) << " PARAM+" << tensor.param_offset
       << " " << ToText(mesh, tensor.dims, tensor.param_sharding) << " grad "
       << PlaceText(tensor.reduced_grad);
  for (size_t i = 0; i < tensor.state_offsets.size(); ++i) {
    text << " " << tensor.state_names[i] << " STATE+" << tensor.state_offsets[i];
  }
  if (!tensor.state_offsets.empty()) {
    text << " " << ToText(mesh, tensor.dims, tensor.optimizer_sharding);
  }
  if (!tensor.owner_members.empty()) text << " held by stages " << JoinInts(tensor.owner_members);
  text << "\n";
}

void AppendEdges(const std::string& name, const std::vector<EdgePlacement>& edges,
                 std::ostream& text) {
  for (const EdgePlacement& edge : edges) {
    text << name << " " << PlaceText(edge.place) << " bytes " << edge.bytes << "\n";
  }
}

// "" for the first chunk, then "b", "c", ...
std::string ChunkText(int32_t chunk) {
  if (chunk == 0) return "";
  return chunk < 26 ? std::string(1, static_cast<char>('a' + chunk)) : "." + std::to_string(chunk);
}

std::string TransferText(const Transfer& transfer, char direction) {
  return std::string(1, direction) + (transfer.gradient ? "b" : "f") +
         std::to_string(transfer.microbatch) + ChunkText(transfer.chunk);
}

void AppendChunk(const StageProgram& program, size_t index, std::ostream& text) {
  const ChunkProgram& chunk = program.chunks[index];
  const std::string suffix = ChunkText(static_cast<int32_t>(index));
  if (program.chunks.size() > 1) {
    text << "chunk " << index << " virtual stage " << chunk.virtual_stage << "\n";
  }
  AppendInstances(program, chunk.forward, "F" + suffix, text);
  AppendInstances(program, chunk.backward, "B" + suffix, text);
  AppendInstances(program, chunk.weight_grad, "W" + suffix, text);
  AppendEdges("edge_in" + suffix, chunk.edges_in, text);
  AppendEdges("edge_out" + suffix, chunk.edges_out, text);
  AppendEdges("grad_edge_in" + suffix, chunk.grad_edges_in, text);
  AppendEdges("grad_edge_out" + suffix, chunk.grad_edges_out, text);
}

}  // namespace

std::string_view Name(Pool pool) {
  switch (pool) {
    case Pool::kParam:
      return "PARAM";
    case Pool::kState:
      return "STATE";
    case Pool::kGrad:
      return "GRAD";
    case Pool::kInput:
      return "INPUT";
    case Pool::kSaved:
      return "SAVED";
    case Pool::kGathered:
      return "GATHERED";
    case Pool::kScratch:
      return "SCRATCH";
    case Pool::kEdge:
      return "EDGE";
    case Pool::kScalars:
      return "SCALARS";
  }
  return "?";
}

bool IsSlotted(Pool pool) {
  return pool == Pool::kInput || pool == Pool::kSaved || pool == Pool::kEdge;
}

int64_t IndexMap::Evaluate(const std::vector<int64_t>& coordinates) const {
  int64_t value = base;
  for (const Term& term : terms) {
    CHECK(0 <= term.axis && term.axis < static_cast<int>(coordinates.size()))
        << "index map names axis " << term.axis << " of " << coordinates.size();
    const int64_t at = coordinates[term.axis];
    value += (term.modulus == 0 ? at : (at + term.shift) % term.modulus) * term.stride;
  }
  return value;
}

int64_t View::count() const { return Product(sizes); }

bool IsCollective(std::string_view op) {
  return op == kAllReduceOp || op == kAllGatherOp || op == kReduceScatterOp || op == kAllToAllOp ||
         op == kPermuteOp;
}

const std::vector<Instance>& StageProgram::instances(Phase phase, int chunk) const {
  switch (phase) {
    case Phase::kInit:
      return init;
    case Phase::kGather:
      return gather;
    case Phase::kForward:
      return chunks[chunk].forward;
    case Phase::kBackward:
      return chunks[chunk].backward;
    case Phase::kWeightGrad:
      return chunks[chunk].weight_grad;
    case Phase::kUpdate1:
      return update1;
    case Phase::kUpdate2:
      break;
  }
  return update2;
}

int64_t StageProgram::SlotBytes(Pool pool) const {
  for (const PoolSize& size : pools) {
    if (size.pool == pool) return RoundUp(size.bytes, kAlignment);
  }
  return 0;
}

int64_t StageProgram::PoolBytes(Pool pool) const {
  for (const PoolSize& size : pools) {
    if (size.pool == pool) return SlotBytes(pool) * size.slots;
  }
  return 0;
}

int64_t StageProgram::ArenaBytes() const {
  int64_t bytes = 0;
  for (const PoolSize& size : pools) bytes += PoolBytes(size.pool);
  return bytes;
}

int64_t StageProgram::PoolOffset(Pool pool) const {
  int64_t offset = 0;
  for (const PoolSize& size : pools) {
    if (size.pool == pool) return offset;
    offset += PoolBytes(size.pool);
  }
  return offset;
}

std::string StageProgram::ToText(const Mesh& mesh) const {
  std::ostringstream text;
  text << "stage " << stage << " on " << mesh.ToText() << " arena " << ArenaBytes() << " bytes\n";
  for (const PoolSize& size : pools) {
    text << "pool " << Name(size.pool) << " " << size.bytes;
    if (IsSlotted(size.pool)) text << " x " << size.slots << " slots";
    text << "\n";
  }
  for (size_t i = 0; i < groups.size(); ++i) {
    text << "group g" << i << " " << GroupText(groups[i], mesh) << "\n";
  }
  for (const SegmentCode& code : codes) {
    text << "code " << code.name << "\n";
    for (size_t i = 0; i < code.instructions.size(); ++i) {
      text << "  " << i << ": " << InstructionText(code.instructions[i], code, mesh) << "\n";
    }
  }
  AppendInstances(*this, init, "INIT", text);
  AppendInstances(*this, gather, "G", text);
  for (size_t i = 0; i < chunks.size(); ++i) AppendChunk(*this, i, text);
  AppendInstances(*this, update1, "U1", text);
  AppendInstances(*this, update2, "U2", text);
  for (const TensorPlacement& tensor : tensors) AppendTensor(tensor, mesh, text);
  for (const InputPlacement& input : inputs) {
    text << "input " << input.name << " " << trireme::ToText(input.dims) << " INPUT+"
         << input.offset << " " << trireme::ToText(mesh, input.dims, input.sharding) << " "
         << Name(input.dtype) << "\n";
  }
  text << "scalars control " << scalars.control << " reduce " << scalars.reduce << " lr_table "
       << scalars.lr_table << " x " << scalars.lr_table_entries << "\n";
  AppendEdges("output", outputs, text);
  return text.str();
}

std::string StepSchedule::ToText() const {
  std::string text;
  for (const ScheduleItem& item : items) {
    if (!text.empty()) text += " ";
    if (item.kind == ItemKind::kRun) {
      text += Name(item.phase);
      if (item.microbatch >= 0) text += std::to_string(item.microbatch) + ChunkText(item.chunk);
      continue;
    }
    std::string exchange;
    for (const Transfer& send : item.sends) {
      exchange += (exchange.empty() ? "" : "+") + TransferText(send, '>');
    }
    for (const Transfer& receive : item.receives) {
      exchange += (exchange.empty() ? "" : "+") + TransferText(receive, '<');
    }
    text += exchange;
  }
  return text;
}

}  // namespace trireme
