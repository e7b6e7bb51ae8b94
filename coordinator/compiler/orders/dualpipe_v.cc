// DualPipeV: two chunks a stage in a V; in steady state a forward of one chunk stands beside the
// backward of the other, whose weight gradient is put off only while the pipeline fills and drains.
// DeepSeek-AI 2025, github.com/deepseek-ai/DualPipe.
#include "coordinator/compiler/orders/order.h"

namespace trireme {
namespace {

constexpr std::string_view kName = "dualpipe_v";

class Writer {
 public:
  void Forward(int32_t chunk) { actions.push_back({Phase::kForward, forwards_[chunk]++, chunk}); }
  // The input gradient; the weight gradient waits for NextWeights.
  void InputGradient(int32_t chunk) {
    actions.push_back({Phase::kBackward, backwards_[chunk]++, chunk});
    waiting_.push_back(actions.back());
    waiting_.back().phase = Phase::kWeightGrad;
  }
  void Backward(int32_t chunk, bool put_off_weights = false) {
    InputGradient(chunk);
    if (put_off_weights) return;
    actions.push_back(waiting_.back());
    waiting_.pop_back();
  }
  void NextWeights() {
    actions.push_back(waiting_.front());
    waiting_.erase(waiting_.begin());
  }
  bool weights_wait() const { return !waiting_.empty(); }

  std::vector<Action> actions;

 private:
  int32_t forwards_[2] = {};
  int32_t backwards_[2] = {};
  std::vector<Action> waiting_;
};

void Fill(Writer& out, int32_t stage, int32_t later_stages) {
  for (int32_t i = 0; i < 2 * later_stages; ++i) out.Forward(0);
  for (int32_t i = 0; i < stage + 1; ++i) {
    out.Forward(0);
    out.Forward(1);
  }
  for (int32_t i = 0; i < later_stages; ++i) {
    out.InputGradient(1);
    out.NextWeights();
    out.Forward(1);
  }
}

void Drain(Writer& out, int32_t stage, int32_t later_stages) {
  for (int32_t i = 0; i < later_stages; ++i) {
    out.Backward(1);
    out.Forward(1);
    out.Backward(0);
  }
  bool put_off = false;
  for (int32_t i = 0; i < stage + 1; ++i) {
    if (i == (stage + 1) / 2 && stage % 2 == 1) put_off = true;
    out.Backward(1, put_off);
    if (i == (stage + 1) / 2 && stage % 2 == 0) put_off = true;
    out.Backward(0, put_off);
  }
  for (int32_t i = 0; i < later_stages; ++i) {
    out.NextWeights();
    out.InputGradient(0);
  }
  while (out.weights_wait()) out.NextWeights();
}

std::vector<Action> Actions(const OrderInput& input) {
  const int32_t later_stages = input.num_stages - 1 - input.stage;
  Writer out;
  Fill(out, input.stage, later_stages);
  const int32_t steady = input.num_microbatches - 2 * input.num_stages + input.stage + 1;
  for (int32_t i = 0; i < steady; ++i) {
    out.Forward(0);
    out.Backward(1);
    out.Forward(1);
    out.Backward(0);
  }
  Drain(out, input.stage, later_stages);
  return out.actions;
}

Status Check(const OrderInput& input) {
  RETURN_IF_ERROR(CheckChunks(kName, input, 2));
  if (input.num_microbatches >= 2 * input.num_stages) return absl::OkStatus();
  return InvalidArgument(
      "pipeline.order: " + std::string(kName) + " needs 2 microbatches a stage, that is " +
      std::to_string(2 * input.num_stages) + " for " + std::to_string(input.num_stages) +
      " stages, but a step has " + std::to_string(input.num_microbatches) +
      "; use more or smaller microbatches, or order zero_bubble_v");
}

}  // namespace

Order DualPipeVOrder() {
  return {kName,
          {.default_chunks = 2, .splits_weight_grad = true, .placement = Placement::kV},
          Check,
          Actions};
}

}  // namespace trireme
