// Reference of dot: einsum by nested loops, one a letter, over strided views.
#include "kernels/ops/dot/equation.h"
#include "kernels/ops/kernel.h"
#include "kernels/ops/reference_util.h"

namespace trireme {
namespace {

// One letter: its size, and how far a step moves in each operand (0 where the letter is absent).
struct Loop {
  int64_t size = 0;
  int64_t step_a = 0;
  int64_t step_b = 0;
  int64_t step_out = 0;
};

int64_t StepOf(const Tensor& tensor, const std::string& letters, char letter) {
  const size_t d = letters.find(letter);
  return d == std::string::npos ? 0 : tensor.strides[d];
}

Loop MakeLoop(const KernelArgs& args, const Equation& equation, char letter) {
  const size_t in_a = equation.a.find(letter);
  const int64_t size = in_a != std::string::npos
                           ? args.in[0].size(static_cast<int>(in_a))
                           : args.in[1].size(static_cast<int>(equation.b.find(letter)));
  return {size, StepOf(args.in[0], equation.a, letter), StepOf(args.in[1], equation.b, letter),
          StepOf(args.out[0], equation.out, letter)};
}

// Load and Store take offsets in memory here, so that views need not be dense.
struct Dotter {
  const KernelArgs& args;
  std::vector<Loop> kept, summed;

  double Sum(size_t depth, int64_t ia, int64_t ib) const {
    if (depth == summed.size()) return Load(args.in[0], ia) * Load(args.in[1], ib);
    double sum = 0;
    for (int64_t i = 0; i < summed[depth].size; ++i) {
      sum += Sum(depth + 1, ia + i * summed[depth].step_a, ib + i * summed[depth].step_b);
    }
    return sum;
  }
  void Run(size_t depth, int64_t ia, int64_t ib, int64_t io) const {
    if (depth == kept.size()) {
      Store(args.out[0], io, Sum(0, ia, ib), args.accumulate);
      return;
    }
    const Loop& loop = kept[depth];
    for (int64_t i = 0; i < loop.size; ++i) {
      Run(depth + 1, ia + i * loop.step_a, ib + i * loop.step_b, io + i * loop.step_out);
    }
  }
};

}  // namespace

void Reference_dot(const KernelArgs& args) {
  const StatusOr<Equation> equation = ParseEquation(args.attrs.GetString("equation"));
  CHECK_OK(equation.status());
  Dotter dotter{.args = args};
  for (const char letter : equation->out) dotter.kept.push_back(MakeLoop(args, *equation, letter));
  for (const char letter : equation->a) {
    if (HasLetter(equation->out, letter)) continue;
    dotter.summed.push_back(MakeLoop(args, *equation, letter));
  }
  dotter.Run(0, 0, 0, 0);
}

}  // namespace trireme
