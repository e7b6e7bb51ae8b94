// The table of architectures and the parts they share.
#include "coordinator/compiler/models/model.h"

#include <cmath>

namespace trireme {

StatusOr<Model> BuildLlama(const ModelContext& context, Purpose purpose);
StatusOr<Model> BuildGpt2(const ModelContext& context, Purpose purpose);
StatusOr<Model> BuildMixtral(const ModelContext& context, Purpose purpose);
StatusOr<Model> BuildQwen3Moe(const ModelContext& context, Purpose purpose);
StatusOr<Model> BuildDeepseekMoe(const ModelContext& context, Purpose purpose);
StatusOr<Model> BuildGrugMoe(const ModelContext& context, Purpose purpose);

namespace {

struct Architecture {
  std::string_view type;
  StatusOr<Model> (*build)(const ModelContext& context, Purpose purpose);
};

constexpr Architecture kArchitectures[] = {
    {"llama", BuildLlama},
    {"gpt2", BuildGpt2},
    {"mixtral", BuildMixtral},
    {"qwen3_moe", BuildQwen3Moe},
    {"deepseek_moe", BuildDeepseekMoe},
    {"grug_moe", BuildGrugMoe},
};

}  // namespace

std::vector<std::string_view> ModelTypes() {
  std::vector<std::string_view> types;
  for (const Architecture& architecture : kArchitectures) types.push_back(architecture.type);
  return types;
}

StatusOr<Model> BuildModel(const ModelSpec& spec, const MoeSpec& moe, const BatchShape& shape,
                           Purpose purpose) {
  std::string known;
  for (const Architecture& architecture : kArchitectures) {
    if (architecture.type == spec.type) {
      ASSIGN_OR_RETURN(Model model,
                       architecture.build(ModelContext(spec, moe, shape, purpose), purpose));
      model.experts = spec.experts;
      return model;
    }
    known += (known.empty() ? "" : ", ") + std::string(architecture.type);
  }
  return InvalidArgument("model.type: unknown architecture \"" + spec.type + "\"; known: " + known);
}

std::string InstanceName(const std::string& name, int layer) {
  const size_t at = name.find("{layer}");
  if (at == std::string::npos) return name;
  return name.substr(0, at) + std::to_string(layer) + name.substr(at + 7);
}

LogicalTensor ModelContext::Matrix(const std::string& name, const std::vector<Dim>& dims,
                                   const std::string& region, bool decay, double scale) const {
  return {.name = name,
          .dims = dims,
          .init = matrix_init,
          .init_std = spec.initializer_range * scale,
          .decay = decay,
          .region = region};
}

LogicalTensor ModelContext::Vector(const std::string& name, const std::vector<Dim>& dims,
                                   const std::string& region, InitKind init) const {
  return {.name = name, .dims = dims, .init = init, .region = region};
}

int ModelContext::Attention(GraphBuilder& b, int q, int k, int v,
                            const AttentionOptions& options) const {
  const int positions = b.Input("positions", Tokens(), DType::kInt32);
  const int segments = b.Input("segments", Tokens(), DType::kInt32);
  const std::vector<std::pair<std::string, std::string>> to_key = {{"position", "key_position"}};
  if (options.rope) {
    Attrs attrs = {{"theta", spec.rope_theta}, {"inverse", int64_t{0}}};
    if (options.rotary_dim > 0) attrs.Set("rotary_dim", options.rotary_dim);
    q = b.Add1("rope", attrs, {q, positions}, "q_rotated");
    k = b.Add1("rope", attrs, {k, positions}, "k_rotated");
  }
  k = b.Rename(k, b.region(), to_key, "keys");
  v = b.Rename(v, b.region(), to_key, "values");
  const int key_positions = b.Rename(positions, b.region(), to_key, "key_positions");
  const int key_segments = b.Rename(segments, b.region(), to_key, "key_segments");
  Attrs attrs = {{"scale", options.scale_mult / std::sqrt(static_cast<double>(spec.head_dim))},
                 {"query_group", spec.num_attention_heads / spec.num_key_value_heads}};
  if (options.window > 0) attrs.Set("window", options.window);
  return b.Add1("attention", attrs, {q, k, v, positions, key_positions, segments, key_segments},
                "attended");
}

void ModelContext::Head(GraphBuilder& b, int x, int table, Purpose purpose) const {
  Graph& graph = b.graph();
  const int h = b.Rename(x, "head", {}, "head_in");
  b.SetRegion("head");
  if (purpose == Purpose::kGenerate) {
    graph.edges_out = {b.Dot(h, table, {"batch", "position", "vocab"}, "logits")};
    return;
  }
  const int targets = b.Input("targets", Tokens(), DType::kInt32);
  const int weights = b.Input("weights", Tokens(), DType::kFloat32);
  graph.loss = b.Add1("linear_cross_entropy", {{"vocab_size", spec.vocab_size}},
                      {h, table, targets, weights}, "loss");
  const int weight =
      b.Add1("reduce_sum", {{"keep", std::string()}, {"dtype", std::string("float64")}}, {weights},
             "loss_weight");
  graph.contributions = {{graph.loss, "reduce", 0}, {weight, "reduce", 1}};
}

}  // namespace trireme
