// ZB-V: two chunks a stage in a V, backward split, no idle between a stage's first and last action
// when F, B and W take equally long, with the memory of 1F1B. Qi et al. 2024, arXiv:2405.15362.
#include <algorithm>

#include "coordinator/compiler/orders/order.h"

namespace trireme {
namespace {

constexpr std::string_view kName = "zero_bubble_v";

// Appends the next action of a phase and chunk. The pattern is laid out for the 2 * stages - 1
// microbatches that fill the pipeline; those beyond the step's are left out.
class Writer {
 public:
  explicit Writer(int32_t num_microbatches) : num_microbatches_(num_microbatches) {}
  void Add(Phase phase, int32_t chunk) {
    const int32_t m = count(phase, chunk)++;
    if (m < num_microbatches_) actions.push_back({phase, m, chunk});
  }
  int32_t& count(Phase phase, int32_t chunk) { return counts_[static_cast<int>(phase)][chunk]; }

  std::vector<Action> actions;

 private:
  int32_t num_microbatches_;
  int32_t counts_[3][2] = {};
};

constexpr Phase kF = Phase::kForward;
constexpr Phase kB = Phase::kBackward;
constexpr Phase kW = Phase::kWeightGrad;

void BackwardAndWeights(Writer& out, int32_t chunk) {
  out.Add(kB, chunk);
  out.Add(kW, chunk);
}

void WarmUp(Writer& out, int32_t stage, int32_t later_and_own) {
  for (int32_t i = 0; i < 2 * later_and_own - 1; ++i) out.Add(kF, 0);
  for (int32_t i = 0; i < stage; ++i) {
    out.Add(kF, 1);
    out.Add(kF, 0);
  }
  for (int32_t i = 0; i < later_and_own; ++i) {
    out.Add(kF, 1);
    BackwardAndWeights(out, 1);
  }
}

void CoolDown(Writer& out, int32_t stage, int32_t later_and_own) {
  for (int32_t i = 0; i < stage; ++i) {
    out.Add(kB, 0);
    out.Add(kB, 1);
  }
  for (int32_t i = 0; i < later_and_own; ++i) BackwardAndWeights(out, 0);
  for (const int32_t chunk : {1, 0}) {
    while (out.count(kW, chunk) < out.count(kB, chunk)) out.Add(kW, chunk);
  }
}

std::vector<Action> Actions(const OrderInput& input) {
  const int32_t later_and_own = input.num_stages - input.stage;
  const int32_t microbatches = std::max(2 * input.num_stages - 1, input.num_microbatches);
  Writer out(input.num_microbatches);
  WarmUp(out, input.stage, later_and_own);
  while (out.count(kF, 1) < out.count(kF, 0) || out.count(kF, 0) < microbatches) {
    if (out.count(kF, 0) < microbatches) out.Add(kF, 0);
    BackwardAndWeights(out, 0);
    out.Add(kF, 1);
    BackwardAndWeights(out, 1);
  }
  CoolDown(out, input.stage, later_and_own);
  return out.actions;
}

}  // namespace

Order ZeroBubbleVOrder() {
  return {kName,
          {.default_chunks = 2, .splits_weight_grad = true, .placement = Placement::kV},
          [](const OrderInput& input) { return CheckChunks(kName, input, 2); },
          Actions};
}

}  // namespace trireme
