// Interleaved 1F1B: every stage runs several chunks, microbatches in groups of num_stages through
// each chunk in turn. Narayanan et al. 2021, arXiv:2104.04473, as in Megatron-LM.
#include <algorithm>

#include "coordinator/compiler/orders/order.h"

namespace trireme {
namespace {

constexpr std::string_view kName = "interleaved_1f1b";

// The k-th forward of a stage, counted over all chunks; backwards go through the chunks from the
// last to the first.
Action At(const OrderInput& input, Phase phase, int32_t k) {
  const int32_t group = input.num_stages * input.num_chunks;
  const int32_t chunk = k % group / input.num_stages;
  const int32_t microbatch = k / group * input.num_stages + k % input.num_stages;
  return {phase, microbatch, phase == Phase::kForward ? chunk : input.num_chunks - 1 - chunk};
}

std::vector<Action> Actions(const OrderInput& input) {
  const int32_t total = input.num_microbatches * input.num_chunks;
  const int32_t later_stages = input.num_stages - 1 - input.stage;
  const int32_t warmup =
      std::min(total, 2 * later_stages + (input.num_chunks - 1) * input.num_stages);
  std::vector<Action> actions;
  for (int32_t k = 0; k < warmup; ++k) actions.push_back(At(input, Phase::kForward, k));
  for (int32_t k = warmup; k < total; ++k) {
    actions.push_back(At(input, Phase::kForward, k));
    actions.push_back(At(input, Phase::kBackward, k - warmup));
  }
  for (int32_t k = total - warmup; k < total; ++k)
    actions.push_back(At(input, Phase::kBackward, k));
  return actions;
}

Status Check(const OrderInput& input) {
  if (input.num_chunks < 2) {
    return InvalidArgument("pipeline.chunks_per_stage: " + std::string(kName) + " with " +
                           std::to_string(input.num_chunks) +
                           " chunk a stage is 1f1b; choose order 1f1b or 2 chunks and more");
  }
  if (input.num_microbatches % input.num_stages != 0) {
    const int32_t below = input.num_microbatches / input.num_stages * input.num_stages;
    return InvalidArgument(
        "pipeline.order: " + std::string(kName) + " needs a multiple of the " +
        std::to_string(input.num_stages) + " stages as microbatches, but a step has " +
        std::to_string(input.num_microbatches) + "; try " +
        (below > 0 ? std::to_string(below) + " or " : "") +
        std::to_string(below + input.num_stages) + " microbatches, or order 1f1b");
  }
  return absl::OkStatus();
}

}  // namespace

Order InterleavedOrder() { return {kName, {.default_chunks = 2}, Check, Actions}; }

}  // namespace trireme
