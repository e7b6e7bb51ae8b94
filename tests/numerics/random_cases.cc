// Combinations that nobody thought of: every dimension drawn on its own, as many ranks as fit.
#include "common/base/math.h"
#include "tests/numerics/layout_cases.h"

namespace trireme {
namespace {

constexpr int64_t kMaxRanks = 8;
constexpr int64_t kSequences = 8;  // of a step, a microbatch each

class Dice {
 public:
  explicit Dice(uint64_t seed) : state_(Mix64(seed)) {}
  bool Coin() { return Below(2) == 1; }
  int64_t Below(int64_t n) {
    state_ = Mix64(state_);
    return static_cast<int64_t>(state_ % static_cast<uint64_t>(n));
  }
  template <typename T>
  T Pick(const std::vector<T>& options) {
    return options[Below(static_cast<int64_t>(options.size()))];
  }

 private:
  uint64_t state_;
};

struct Shape {
  int64_t slices = 1, replica = 1, data = 1, stage = 1, context = 1, model = 1, expert = 1;
  int64_t inside() const { return replica * data * stage * context * model * expert; }
  int64_t replicas() const { return slices * replica * data * expert; }
};

Shape DrawShape(Dice& dice, bool experts) {
  Shape shape;
  std::vector<int64_t*> axes = {&shape.slices, &shape.replica, &shape.data,
                                &shape.stage,  &shape.context, &shape.model};
  if (experts) axes.insert(axes.end(), {&shape.expert, &shape.expert});
  while (shape.slices * shape.inside() < kMaxRanks) {
    int64_t& axis = *dice.Pick(axes);
    if (axis < 4 && shape.replicas() <= kSequences) axis *= 2;
    if (shape.replicas() > kSequences) axis /= 2;
    if (dice.Below(6) == 0) break;
  }
  return shape;
}

std::string DrawOrder(Dice& dice, const Shape& shape) {
  const int64_t microbatches = kSequences / shape.replicas();
  std::vector<std::string> orders = {"gpipe", "1f1b", "eager_1f1b"};
  if (microbatches >= shape.stage) orders.push_back("zero_bubble_h1");
  if (microbatches % shape.stage == 0) orders.push_back("interleaved_1f1b");
  if (microbatches >= 2 * shape.stage) {
    orders.push_back("zero_bubble_v");
    orders.push_back("dualpipe_v");
  }
  return dice.Pick(orders);
}

std::string Draw(Dice& dice, const Shape& shape, bool experts) {
  const auto number = [](int64_t n) { return std::to_string(n); };
  const auto truth = [&] { return std::string(dice.Coin() ? "true" : "false"); };
  std::string text = "train.microbatch_size=1; mesh.axes={replica: " + number(shape.replica) +
                     ", data: " + number(shape.data) + ", stage: " + number(shape.stage) +
                     ", context: " + number(shape.context) + ", model: " + number(shape.model) +
                     ", expert: " + number(shape.expert) + "}";
  if (experts) text += "; moe.dispatch=" + dice.Pick<std::string>({"ring", "all_to_all"});
  if (shape.model > 1) {
    text += "; tensor_parallel={mode: " + dice.Pick<std::string>({"all_reduce", "reduce_scatter"}) +
            ", async: " + truth() + ", recompute_allgather: " + truth() +
            ", chunks: " + number(1 + dice.Below(3)) + "}";
  }
  if (shape.context > 1) {
    text += "; context_parallel={mode: " + dice.Pick<std::string>({"ring", "all_gather"}) +
            ", zigzag: " + truth() + "}";
  }
  text += "; pipeline.order=" + DrawOrder(dice, shape);
  text += dice.Pick<std::string>({"; zero.stage=0", "; zero.stage=1", "; zero.stage=3",
                                  "; zero={stage: 3, prefetch: true}",
                                  "; zero={stage: 3, reshard_after_forward: false}"});
  if (dice.Coin()) text += "; mesh.reduce=step";
  if (dice.Coin()) text += "; train.remat=block";
  if (shape.slices > 1 && dice.Coin()) text += "; mesh.dcn_reduce=flat";
  return text;
}

}  // namespace

std::vector<LayoutCase> RandomCases(int count) {
  std::vector<LayoutCase> cases;
  for (int i = 0; i < count; ++i) {
    Dice dice(1000 + i);
    const Shape shape = DrawShape(dice, false);
    // Nine layers, because stages may have two chunks each.
    const std::string model =
        shape.stage > 1 ? "deep" : dice.Pick<std::string>({"llama", "gpt2", "tied"});
    cases.push_back({"random" + std::to_string(i), Draw(dice, shape, false), model,
                     shape.slices * shape.inside(), shape.slices});
  }
  return cases;
}

std::vector<LayoutCase> RandomExpertCases(int count) {
  std::vector<LayoutCase> cases;
  for (int i = 0; i < count; ++i) {
    Dice dice(5000 + i);
    const Shape shape = DrawShape(dice, true);
    std::string model = dice.Pick<std::string>({"mixtral", "grug", "deepseek"});
    if (shape.stage > 1) model += "_deep";
    cases.push_back({"random_experts" + std::to_string(i), Draw(dice, shape, true), model,
                     shape.slices * shape.inside(), shape.slices});
  }
  return cases;
}

}  // namespace trireme
