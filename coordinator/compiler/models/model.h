// A model as a chain of segments: each distinct segment (embedding, block, head) is one forward
// Graph, laid end to end by the chain. Builders write ops on named dims in regions; parallelism
// comes later, from mesh and mapping.
#ifndef TRIREME_COORDINATOR_COMPILER_MODELS_MODEL_H_
#define TRIREME_COORDINATOR_COMPILER_MODELS_MODEL_H_

#include <string>
#include <string_view>
#include <vector>

#include "common/config/job_spec.h"
#include "common/ir/graph.h"
#include "kernels/ops/graph_builder.h"

namespace trireme {

struct ChainLink {
  int segment = 0;  // index into Model::segments
  int layer = -1;   // replaces "{layer}" in tensor names; -1 outside blocks
};

struct Model {
  std::vector<Graph> segments;
  std::vector<ChainLink> chain;
  ExpertsSpec experts;
};

// Train: the head ends in loss sums. Generate: it ends in logits, listed in the head's edges_out.
enum class Purpose : uint8_t { kTrain, kGenerate };

// Sizes of one microbatch over the whole mesh.
struct BatchShape {
  int64_t batch = 1;
  int64_t position = 1;             // padded so that it splits
  int64_t token_shards = 1;         // parts of a microbatch's tokens where the router sees them
  int64_t expert_token_shards = 1;  // and where experts do
  int64_t expert_shards = 1;        // parts of the experts
};

// Errors: kInvalidArgument listing the known types.
StatusOr<Model> BuildModel(const ModelSpec& spec, const MoeSpec& moe, const BatchShape& shape,
                           Purpose purpose);

// Architectures, for help and errors.
std::vector<std::string_view> ModelTypes();

// "{layer}" in `name` replaced by `layer`.
std::string InstanceName(const std::string& name, int layer);

// ---- for builders

struct AttentionOptions {
  bool rope = true;        // queries and keys are rotated by their positions
  int64_t rotary_dim = 0;  // of head_dim, from the first on; 0 = all
  int64_t window = 0;      // keys that a query sees, its own the last; 0 = all before it
  double scale_mult = 1;   // times the scale 1 / sqrt(head_dim)
};

// Dims and helpers shared by the architectures.
class ModelContext {
 public:
  ModelContext(const ModelSpec& spec, const MoeSpec& moe, const BatchShape& shape, Purpose purpose)
      : spec(spec), moe(moe), shape(shape), purpose(purpose) {}

  const ModelSpec& spec;
  const MoeSpec& moe;
  const BatchShape& shape;
  const Purpose purpose;

  Dim Batch() const { return {"batch", shape.batch}; }
  Dim Position() const { return {"position", shape.position}; }
  Dim Embed() const { return {"embed", spec.hidden_size}; }
  Dim Heads() const { return {"heads", spec.num_attention_heads}; }
  Dim KvHeads() const { return {"kv_heads", spec.num_key_value_heads}; }
  Dim HeadDim() const { return {"head_dim", spec.head_dim}; }
  Dim Mlp() const { return {"mlp", spec.intermediate_size}; }
  Dim Vocab() const { return {"vocab", spec.vocab_size}; }
  std::vector<Dim> Tokens() const { return {Batch(), Position()}; }
  std::vector<Dim> Residual() const { return {Batch(), Position(), Embed()}; }

  // Of matrices: normal, or truncated normal.
  InitKind matrix_init = InitKind::kNormal;

  // A matrix with the model's initialiser times `scale`.
  LogicalTensor Matrix(const std::string& name, const std::vector<Dim>& dims,
                       const std::string& region, bool decay, double scale = 1.0) const;
  LogicalTensor Vector(const std::string& name, const std::vector<Dim>& dims,
                       const std::string& region, InitKind init) const;

  // q, k, v, each in [batch, position, heads or kv_heads, head_dim] -> output like q; positions and
  // segments are the data inputs.
  int Attention(GraphBuilder& b, int q, int k, int v, const AttentionOptions& options) const;

  // Ends a model: sums of weighted losses, or logits.
  void Head(GraphBuilder& b, int x, int table, Purpose purpose) const;
};

// How a router chooses and weighs experts, and how it is kept balanced; see kernels/ops/route.
struct RouterDesign {
  std::string weight;             // tensor names
  std::string bias;               // of the selection; "" = none
  std::string score = "softmax";  // or "sigmoid"
  std::string bias_to = "none";   // or "logits", "scores"
  double total = 1.0;             // what a token's weights add up to, or their factor
  double eps = 0.0;
  std::string balance_rule;  // of the bias: "", "quantile", "sign"
};

// Router and experts in place of an MLP: `h` [batch, position, embed] in region mlp -> what the
// experts add to the residual stream, in region mlp or experts (partial sums). Experts are SwiGLU
// matrices `experts`{gate,up,down}_proj.weight. Sets the graph's loss where the router has one, and
// its contributions to router_stats.
int MixtureOfExperts(GraphBuilder& b, const ModelContext& context, int h,
                     const RouterDesign& router, const std::string& experts);

}  // namespace trireme

#endif  // TRIREME_COORDINATOR_COMPILER_MODELS_MODEL_H_
