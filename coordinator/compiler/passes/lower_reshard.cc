// Collectives on memory: a gathered or scattered dim must stand outermost in the buffer that
// travels, so a pack or unpack copy is inserted, visibly, where it does not.
#include "common/base/check.h"
#include "common/base/math.h"
#include "common/plan/resolve.h"
#include "coordinator/compiler/passes/lower.h"

namespace trireme {
namespace {

// Elements before and after dim `dim` (dim itself excluded).
struct Around {
  int64_t outer = 1;
  int64_t inner = 1;
};

Around AroundDim(const std::vector<int64_t>& sizes, int dim) {
  Around around;
  for (int i = 0; i < dim; ++i) around.outer *= sizes[i];
  for (size_t i = dim + 1; i < sizes.size(); ++i) around.inner *= sizes[i];
  return around;
}

View Strided(View view, std::vector<int64_t> sizes, std::vector<int64_t> strides) {
  view.sizes = std::move(sizes);
  view.strides = std::move(strides);
  return view;
}

void Copy(CodeBuilder& code, const View& from, const View& to, const std::string& reason) {
  code.Append({.op = "copy", .in = {from}, .out = {to}, .reason = reason});
}

// Between [outer, n, block] in `whole` and [n, outer, block] in `staged`.
View Interleaved(const View& whole, int64_t n, int64_t outer, int64_t block) {
  return Strided(whole, {outer, n, block}, {n * block, block, 1});
}
View Blocked(const View& staged, int64_t n, int64_t outer, int64_t block) {
  return Strided(staged, {outer, n, block}, {block, outer * block, 1});
}

Group GroupOf(const CodeBuilder& code, const Node& node) {
  Group group;
  std::vector<int> axes;
  for (const int64_t axis : node.attrs.GetInts("axes")) axes.push_back(static_cast<int>(axis));
  group.axes.assign(axes.begin(), axes.end());
  if (node.attrs.Has("members")) group.members = node.attrs.GetInts("members");
  group.fabric = code.mesh().GroupFabric(axes);
  return group;
}

void Collective(CodeBuilder& code, const Node& node, const View& in, const View& out) {
  Instruction instruction{.op = node.op, .in = {in}, .out = {out}, .reason = node.reason};
  if (node.op == kPermuteOp) {
    instruction.attrs.Set("shift", node.attrs.GetInt("shift"));
  } else {
    instruction.attrs.Set("kind", node.attrs.GetString("kind"));
  }
  instruction.group = code.GroupIndex(GroupOf(code, node));
  instruction.tensor = code.graph().value(node.inputs[0]).name;
  instruction.async = node.async;
  code.Append(std::move(instruction));
}

void LowerSlice(CodeBuilder& code, const Node& node) {
  if (code.SameMemory(node.inputs[0], node.outputs[0])) return;
  const View out = code.ViewOf(node.outputs[0]);
  View in = code.ViewOf(node.inputs[0]);
  const std::vector<int64_t> whole = in.sizes;
  const int dim = static_cast<int>(node.attrs.GetInt("dim"));
  if (whole == out.sizes) return;
  const int64_t shard = out.sizes[dim] * AroundDim(whole, dim).inner;
  const IndexMap offset = SliceOffset(code.mesh(), node, shard);
  in.offset.terms.insert(in.offset.terms.end(), offset.terms.begin(), offset.terms.end());
  // A slice of the outermost dim is a view of its source already.
  if (in.binding == out.binding && in.offset == out.offset) return;
  in.sizes = out.sizes;
  Copy(code, in, out, node.reason);
}

void LowerAllReduce(CodeBuilder& code, const Node& node) {
  const View out = code.ViewOf(node.outputs[0]);
  if (!code.SameMemory(node.inputs[0], node.outputs[0])) {
    Copy(code, code.ViewOf(node.inputs[0]), out, "all_reduce works in place");
  }
  Collective(code, node, out, out);
}

void LowerAllGather(CodeBuilder& code, const Node& node) {
  const View in = code.ViewOf(node.inputs[0]);
  const View out = code.ViewOf(node.outputs[0]);
  const int dim = static_cast<int>(node.attrs.GetInt("dim"));
  const int64_t n = GroupSize(GroupOf(code, node), code.mesh());
  const Around around = AroundDim(in.sizes, dim);
  if (around.outer == 1) return Collective(code, node, in, out);
  const int64_t block = in.sizes[dim] * around.inner;
  const View staged = code.NewTemp({n * Product(in.sizes)}, in.dtype);
  Collective(code, node, in, staged);
  Copy(code, Blocked(staged, n, around.outer, block), Interleaved(out, n, around.outer, block),
       "unpack");
}

void LowerPermute(CodeBuilder& code, const Node& node) {
  Collective(code, node, code.ViewOf(node.inputs[0]), code.ViewOf(node.outputs[0]));
}

void LowerReduceScatter(CodeBuilder& code, const Node& node) {
  const View in = code.ViewOf(node.inputs[0]);
  const View out = code.ViewOf(node.outputs[0]);
  const int dim = static_cast<int>(node.attrs.GetInt("dim"));
  const int64_t n = GroupSize(GroupOf(code, node), code.mesh());
  const Around around = AroundDim(out.sizes, dim);
  if (around.outer == 1) return Collective(code, node, in, out);
  const int64_t block = out.sizes[dim] * around.inner;
  const View staged = code.NewTemp({Product(in.sizes)}, in.dtype);
  Copy(code, Interleaved(in, n, around.outer, block), Blocked(staged, n, around.outer, block),
       "pack");
  Collective(code, node, staged, out);
}

void LowerAllToAll(CodeBuilder& code, const Node& node) {
  View in = code.ViewOf(node.inputs[0]);
  View out = code.ViewOf(node.outputs[0]);
  const int from = static_cast<int>(node.attrs.GetInt("dim"));
  const int to = static_cast<int>(node.attrs.GetInt("to_dim"));
  const int64_t n = GroupSize(GroupOf(code, node), code.mesh());
  std::vector<int64_t> block_sizes = in.sizes;  // of what goes to one peer
  block_sizes[to] = in.sizes[to] / n;
  const Around around_to = AroundDim(block_sizes, to);
  const int64_t to_block = block_sizes[to] * around_to.inner;
  if (around_to.outer != 1) {
    const View staged = code.NewTemp({Product(in.sizes)}, in.dtype);
    Copy(code, Interleaved(in, n, around_to.outer, to_block),
         Blocked(staged, n, around_to.outer, to_block), "pack");
    in = staged;
  }
  const Around around_from = AroundDim(block_sizes, from);
  if (around_from.outer == 1) return Collective(code, node, in, out);
  const int64_t from_block = block_sizes[from] * around_from.inner;
  const View received = code.NewTemp({Product(out.sizes)}, out.dtype);
  Collective(code, node, in, received);
  Copy(code, Blocked(received, n, around_from.outer, from_block),
       Interleaved(out, n, around_from.outer, from_block), "unpack");
}

}  // namespace

void LowerReshard(CodeBuilder& code, const Node& node) {
  if (node.op == "slice") return LowerSlice(code, node);
  if (node.op == kAllReduceOp) return LowerAllReduce(code, node);
  if (node.op == kAllGatherOp) return LowerAllGather(code, node);
  if (node.op == kReduceScatterOp) return LowerReduceScatter(code, node);
  if (node.op == kPermuteOp) return LowerPermute(code, node);
  CHECK(node.op == kAllToAllOp) << node.op;
  LowerAllToAll(code, node);
}

void LowerPrefetchedGather(CodeBuilder& code, const Node& node, CodePart part) {
  const View in = code.ViewOf(node.inputs[0]);
  const int dim = static_cast<int>(node.attrs.GetInt("dim"));
  const int64_t n = GroupSize(GroupOf(code, node), code.mesh());
  const View staged = code.PrefetchView(node, {n * Product(in.sizes)}, in.dtype);
  if (part == CodePart::kGathers) {
    Node ahead = node;
    ahead.async = true;
    return Collective(code, ahead, in, staged);
  }
  const Around around = AroundDim(in.sizes, dim);
  if (around.outer == 1) return;  // it lies as it is needed
  const int64_t block = in.sizes[dim] * around.inner;
  Copy(code, Blocked(staged, n, around.outer, block),
       Interleaved(code.ViewOf(node.outputs[0]), n, around.outer, block), "unpack");
}

}  // namespace trireme
