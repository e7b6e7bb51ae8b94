// Operands of expert_mlp and its gradient, and the parts of both that are the same.
#ifndef TRIREME_KERNELS_OPS_EXPERT_MLP_OPERANDS_H_
#define TRIREME_KERNELS_OPS_EXPERT_MLP_OPERANDS_H_

#include <string>
#include <utility>
#include <vector>

#include "kernels/ops/rule.h"

namespace trireme {

// Inputs of expert_mlp.
inline constexpr int kExpertX = 0;
inline constexpr int kExpertIds = 1;
inline constexpr int kExpertWeights = 2;
inline constexpr int kExpertGate = 3;
inline constexpr int kExpertUp = 4;
inline constexpr int kExpertDown = 5;

// Outputs of expert_mlp: what the gradient reads of the first wave comes last.
inline constexpr int kExpertY = 0;
inline constexpr int kExpertDrops = 1;
inline constexpr int kExpertExtraWaves = 2;
inline constexpr int kExpertSource = 3;
inline constexpr int kExpertCounts = 4;
inline constexpr int kExpertWavesNeeded = 5;
inline constexpr int kExpertChosen = 6;  // ids and weights, where tokens are dispatched
inline constexpr int kExpertChosenWeights = 7;
inline constexpr int kExpertRows = 8;
inline constexpr int kExpertGateRows = 9;
inline constexpr int kExpertUpRows = 10;
inline constexpr int kExpertInner = 11;
inline constexpr int kExpertOut = 12;
inline constexpr int kNumExpertOutputs = 13;

// One wave's rows on their way through the experts; ids of local values.
struct ExpertRows {
  int rows = -1;
  int gate = -1;
  int up = -1;
  int inner = -1;
  int out = -1;  // back where the tokens are
};

// How rows move and are multiplied, the same forward and backward.
class ExpertWaves {
 public:
  // `all_to_all`: rows travel between region mlp, where tokens are, and region experts; else both
  // are region experts.
  ExpertWaves(ExpandContext& context, const Attrs& attrs)
      : context_(context),
        all_to_all_(attrs.GetInt("all_to_all") != 0),
        choices_(attrs.GetInt("choices")),
        fill_(attrs.GetDouble("fill")) {}

  void AtTokens() { context_.InRegion(token_region()); }
  void AtExperts() { context_.InRegion("experts"); }
  std::string token_region() const { return all_to_all_ ? "mlp" : "experts"; }
  // Rows to their experts, and back.
  int ToExperts(int rows) {
    if (!all_to_all_) return rows;
    return context_.Enter(rows, "experts", {{"destination", "expert_shard"}});
  }
  int ToTokens(int rows) {
    if (!all_to_all_) return rows;
    return context_.Enter(rows, "mlp", {{"expert_shard", "destination"}});
  }
  int Multiply(int rows, int w, int counts, int64_t wave, bool transposed) {
    return context_.Add("grouped_dot", ProductAttrs(wave, transposed), {rows, w, counts})[0];
  }
  Attrs ProductAttrs(int64_t wave, bool transposed) const {
    return {{"wave", wave}, {"transposed", int64_t{transposed}}, {"fill", fill_}};
  }
  Attrs WeightGradAttrs(int64_t wave) const { return {{"wave", wave}, {"fill", fill_}}; }

  // x -> what the experts make of the rows of `wave`.
  ExpertRows Forward(int x, int source, int counts, int gate, int up, int down, int64_t wave) {
    ExpertRows result;
    AtTokens();
    const int sent =
        context_.Add("dispatch", {{"wave", wave}, {"choices", choices_}}, {x, source})[0];
    result.rows = ToExperts(sent);
    AtExperts();
    result.gate = Multiply(result.rows, gate, counts, wave, false);
    result.up = Multiply(result.rows, up, counts, wave, false);
    result.inner = context_.Add("swiglu", {}, {result.gate, result.up})[0];
    result.out = ToTokens(Multiply(result.inner, down, counts, wave, false));
    AtTokens();
    return result;
  }

 private:
  ExpandContext& context_;
  const bool all_to_all_;
  const int64_t choices_;
  const double fill_;
};

}  // namespace trireme

#endif  // TRIREME_KERNELS_OPS_EXPERT_MLP_OPERANDS_H_
