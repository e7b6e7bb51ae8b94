// One all_reduce over R slices of N elements becomes an all_to_all and an all_gather of the
// compressed pieces: 2 (R - 1) / R of the compressed bytes, as the sum it replaces.
#include "coordinator/compiler/passes/compress.h"

#include <string>
#include <utility>
#include <vector>

#include "common/base/math.h"
#include "common/plan/program.h"
#include "kernels/ops/quantize_blocks/layout.h"

namespace trireme {
namespace {

class Compressor {
 public:
  Compressor(Graph& graph, const Mesh& mesh, Compression compression, int slot)
      : graph_(graph), mesh_(mesh), compression_(compression), slot_(slot) {}

  void Run() {
    std::vector<Node> nodes = std::move(graph_.nodes);
    graph_.nodes.clear();
    for (Node& node : nodes) {
      if (Applies(node)) {
        Rewrite(node);
      } else {
        graph_.AddNode(std::move(node));
      }
    }
  }

 private:
  std::vector<int> AxesOf(const Node& node) const {
    std::vector<int> axes;
    for (const int64_t axis : node.attrs.GetInts("axes")) axes.push_back(static_cast<int>(axis));
    return axes;
  }

  bool Applies(const Node& node) const {
    return node.op == kAllReduceOp && node.phase == Phase::kUpdate1 && !node.attrs.Has("members") &&
           node.attrs.GetString("kind") == "sum" &&
           graph_.value(node.inputs[0]).dtype == DType::kFloat32 &&
           mesh_.GroupFabric(AxesOf(node)) == Fabric::kDcn;
  }

  // A value of one rank's own.
  int Flat(const std::string& name, const std::string& dim, int64_t size, DType dtype) {
    return graph_.AddValue({.name = name,
                            .dims = {{dim, size}},
                            .dtype = dtype,
                            .region = "optimizer",
                            .sharding = Replicated(1)});
  }
  int Error(int64_t count) {
    const int id = Flat("compression error", "elements", count, DType::kFloat32);
    graph_.value(id).kind = ValueKind::kState;
    graph_.value(id).tensor = 0;
    graph_.value(id).slot = slot_++;
    return id;
  }
  Attrs FormatAttrs() const {
    return {{"format", std::string(compression_ == Compression::kInt8 ? "int8" : "bf16")},
            {"block", kDefaultQuantizeBlock}};
  }
  int64_t Bytes(int64_t count, int64_t parts) const {
    const auto format =
        compression_ == Compression::kInt8 ? BlockFormat::kInt8 : BlockFormat::kBFloat16;
    return PayloadBytes(format, count, kDefaultQuantizeBlock, parts);
  }

  Node& Add(const std::string& op, Attrs attrs, std::vector<int> inputs, std::vector<int> outputs,
            const std::string& reason) {
    graph_.AddNode({.op = op,
                    .attrs = std::move(attrs),
                    .inputs = std::move(inputs),
                    .outputs = std::move(outputs),
                    .phase = Phase::kUpdate1,
                    .region = "optimizer",
                    .reason = reason});
    return graph_.nodes.back();
  }
  int Quantize(int value, int64_t count, int64_t parts) {
    const int error = Error(count);
    const int payload =
        Flat(graph_.value(value).name, "payload", Bytes(count, parts), DType::kInt8);
    Add("quantize_blocks", FormatAttrs(), {value, error}, {payload, error}, "compression.dcn")
        .attrs.Set("parts", parts);
    return payload;
  }
  void Collective(std::string_view op, const Node& sum, int in, int out) {
    Attrs attrs;
    attrs.Set("axes", sum.attrs.GetInts("axes"));
    attrs.Set("dim", int64_t{0});
    attrs.Set("to_dim", int64_t{0});
    attrs.Set("kind", std::string("sum"));
    Add(std::string(op), std::move(attrs), {in}, {out}, sum.reason + "; compression.dcn");
  }

  void Rewrite(const Node& sum) {
    const Value value = graph_.value(sum.inputs[0]);
    const int64_t count = Product(LocalSizes(mesh_, value.dims, value.sharding));
    const int64_t members = mesh_.GroupSize(AxesOf(sum));
    const int64_t piece = PieceElements(count, members);
    const int sent = Quantize(sum.inputs[0], count, members);
    const int received = Flat(value.name, "payload", Bytes(count, members), DType::kInt8);
    Collective(kAllToAllOp, sum, sent, received);
    const int part = Flat(value.name, "elements", piece, DType::kFloat32);
    Node& add = Add("dequantize_blocks", FormatAttrs(), {received}, {part}, "the slices' sum");
    add.attrs.Set("count", piece);
    add.attrs.Set("sum_parts", members);
    add.attrs.Set("own_axes", sum.attrs.GetInts("axes"));
    const int mine = Quantize(part, piece, 1);
    const int all = Flat(value.name, "payload", members * Bytes(piece, 1), DType::kInt8);
    Collective(kAllGatherOp, sum, mine, all);
    Node& whole = Add("dequantize_blocks", FormatAttrs(), {all}, {sum.outputs[0]}, "");
    whole.attrs.Set("count", count);
    whole.attrs.Set("parts", members);
  }

  Graph& graph_;
  const Mesh& mesh_;
  const Compression compression_;
  int slot_;
};

}  // namespace

void Compress(Graph& graph, const Mesh& mesh, Compression compression, int first_slot) {
  if (compression != Compression::kNone) Compressor(graph, mesh, compression, first_slot).Run();
}

}  // namespace trireme
