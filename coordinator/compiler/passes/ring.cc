// Views are "piece" and "join" (aliases.h); what travels is "permute".
#include "coordinator/compiler/passes/ring.h"

#include <utility>

#include "common/base/check.h"
#include "common/plan/program.h"

namespace trireme {
namespace {

Node ViewNode(const char* op, int axis, int dim, int64_t chunks, Phase phase,
              const std::string& region) {
  Node node{.op = op, .phase = phase, .region = region};
  node.attrs.Set("axis", int64_t{axis});
  node.attrs.Set("dim", int64_t{dim});
  node.attrs.Set("chunks", chunks);
  return node;
}

}  // namespace

int Ring::NewPiece(int value, int dim, int64_t blocks) {
  Value piece = graph_.value(value);
  piece.kind = ValueKind::kTemp;
  piece.tensor = -1;
  const int64_t parts = blocks * chunks_;
  CHECK_EQ(piece.dims[dim].physical() % parts, 0) << piece.name;
  piece.dims[dim] = {piece.dims[dim].name, piece.dims[dim].physical() / parts};
  return graph_.AddValue(std::move(piece));
}

int Ring::Piece(int value, int dim, int64_t shift, int64_t chunk, Phase phase) {
  Node node = ViewNode("piece", axis_, dim, chunks_, phase, graph_.value(value).region);
  node.attrs.Set("shift", shift);
  node.attrs.Set("chunk", chunk);
  node.inputs = {value};
  node.outputs = {NewPiece(value, dim, size())};
  nodes_.push_back(node);
  return node.outputs[0];
}

int Ring::OwnPiece(int value, int dim, int64_t chunk, Phase phase) {
  if (chunks_ == 1) return value;
  Node node = ViewNode("piece", -1, dim, chunks_, phase, graph_.value(value).region);
  node.attrs.Set("shift", int64_t{0});
  node.attrs.Set("chunk", chunk);
  node.inputs = {value};
  node.outputs = {NewPiece(value, dim, 1)};
  nodes_.push_back(node);
  return node.outputs[0];
}

void Ring::Join(int whole, int dim, int64_t blocks, const std::vector<int>& pieces,
                const std::vector<int64_t>& shifts, const std::vector<int64_t>& parts,
                Phase phase) {
  const int axis = blocks == 1 ? -1 : axis_;
  Node node = ViewNode("join", axis, dim, chunks_, phase, graph_.value(whole).region);
  node.attrs.Set("shifts", shifts);
  node.attrs.Set("parts", parts);
  node.inputs = pieces;
  node.outputs = {whole};
  nodes_.push_back(std::move(node));
}

int Ring::Pass(int value, Phase phase, const std::string& reason) {
  Value received = graph_.value(value);
  received.kind = ValueKind::kTemp;
  received.tensor = -1;
  const int id = graph_.AddValue(std::move(received));
  Node node{.op = std::string(kPermuteOp),
            .inputs = {value},
            .outputs = {id},
            .phase = phase,
            .region = graph_.value(value).region,
            .reason = reason,
            .async = true};
  node.attrs.Set("axes", std::vector<int64_t>{axis_});
  node.attrs.Set("shift", int64_t{1});
  nodes_.push_back(std::move(node));
  return id;
}

int Ring::Pack(int value, Phase phase) {
  Value copy = graph_.value(value);
  const int id = graph_.AddValue(std::move(copy));
  nodes_.push_back({.op = "copy",
                    .inputs = {value},
                    .outputs = {id},
                    .phase = phase,
                    .region = graph_.value(value).region,
                    .reason = "what travels is dense"});
  return id;
}

void Ring::Repeat(Node node, std::vector<int> inputs, std::vector<int> outputs, bool accumulate) {
  node.inputs = std::move(inputs);
  node.outputs = std::move(outputs);
  node.accumulate = accumulate;
  nodes_.push_back(std::move(node));
}

}  // namespace trireme
