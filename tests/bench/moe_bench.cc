// Times the kernels of a mixture-of-experts layer, forward and backward, beside a dense SwiGLU MLP
// of equal FLOPs (as wide as the chosen experts together) through `dot`, by turns; and each product
// of groups of rows beside one dense product of equal FLOPs. torch_moe.py runs it beside PyTorch.
//   moe_bench [--experts N] [--choices N] [--hidden N] [--width N] [--tokens N] [--threads N]
//             [--rounds N] [--even]
// --even: all experts get the same number of rows; else experts are drawn at random. Prints one
// JSON line: medians over the rounds of seconds and of processor seconds, GFLOP/s, and ratios (rate
// over the dense rate, median of the rounds' ratios).
#include <sys/mman.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/math.h"
#include "kernels/ops/kernel.h"

namespace trireme {
namespace {

struct Options {
  int64_t experts = 64;
  int64_t choices = 4;
  int64_t hidden = 512;
  int64_t width = 512;
  int64_t tokens = 1024;
  int64_t threads = 2;
  int64_t rounds = 5;
  bool even = false;

  int64_t rows() const { return tokens * choices; }
  double product_flops() const {
    return 2.0 * static_cast<double>(rows()) * static_cast<double>(hidden * width);
  }
};

bool ParseOptions(int argc, char** argv, Options* options) {
  const std::vector<std::pair<std::string_view, int64_t*>> numbers = {
      {"--experts", &options->experts}, {"--choices", &options->choices},
      {"--hidden", &options->hidden},   {"--width", &options->width},
      {"--tokens", &options->tokens},   {"--threads", &options->threads},
      {"--rounds", &options->rounds}};
  for (int i = 1; i < argc; ++i) {
    const std::string_view arg = argv[i];
    if (arg == "--even") {
      options->even = true;
      continue;
    }
    bool known = false;
    for (const auto& [name, value] : numbers) {
      if (arg != name || i + 1 == argc) continue;
      *value = std::atoll(argv[++i]);
      known = *value >= 1;
      break;
    }
    if (!known) return false;
  }
  return options->choices <= options->experts;
}

// Memory as the executor has it: huge pages.
class Memory {
 public:
  Tensor New(DType dtype, const std::vector<int64_t>& sizes) {
    constexpr int64_t kHugePage = int64_t{2} << 20;
    const int64_t bytes = RoundUp(Product(sizes) * 8, kHugePage);
    blocks_.emplace_back(std::aligned_alloc(kHugePage, bytes), &std::free);
    madvise(blocks_.back().get(), bytes, MADV_HUGEPAGE);
    return {dtype, blocks_.back().get(), sizes, DenseStrides(sizes)};
  }
  Tensor Zeros(const std::vector<int64_t>& sizes) {
    const Tensor tensor = New(DType::kFloat32, sizes);
    std::fill_n(tensor.f32(), tensor.count(), 0.0f);
    return tensor;
  }
  Tensor Random(const std::vector<int64_t>& sizes, float scale) {
    const Tensor tensor = New(DType::kFloat32, sizes);
    std::uniform_real_distribution<float> number(-scale, scale);
    for (int64_t i = 0; i < tensor.count(); ++i) tensor.f32()[i] = number(generator_);
    return tensor;
  }
  std::mt19937& generator() { return generator_; }

 private:
  std::vector<std::unique_ptr<void, decltype(&std::free)>> blocks_;
  std::mt19937 generator_{1};
};

class Runner {
 public:
  explicit Runner(int64_t threads) { stream_.num_threads = static_cast<int>(threads); }
  void Run(std::string_view op, const Attrs& attrs, const std::vector<Tensor>& in,
           const std::vector<Tensor>& out, bool accumulate = false) {
    FindKernels(op).cpu({stream_, attrs, in, out, accumulate});
  }
  void Dot(const char* equation, const Tensor& a, const Tensor& b, const Tensor& out,
           bool accumulate = false) {
    Run("dot", {{"equation", std::string(equation)}}, {a, b}, {out}, accumulate);
  }

 private:
  Stream stream_;
};

// A SwiGLU MLP over `tokens`: forward and backward by dense products.
class DenseLayer {
 public:
  DenseLayer(const Options& o, Memory& memory, Runner& runner) : runner_(runner) {
    const int64_t width = o.width * o.choices;
    x_ = memory.Random({o.tokens, o.hidden}, 1);
    dy_ = memory.Random({o.tokens, o.hidden}, 1);
    for (Tensor* w : {&gate_w_, &up_w_}) *w = memory.Random({o.hidden, width}, 0.05f);
    down_w_ = memory.Random({width, o.hidden}, 0.05f);
    for (Tensor* h : {&gate_, &up_, &inner_, &dinner_, &dgate_, &dup_}) {
      *h = memory.Zeros({o.tokens, width});
    }
    for (Tensor* y : {&y_, &dx_}) *y = memory.Zeros({o.tokens, o.hidden});
    for (Tensor* dw : {&dgate_w_, &dup_w_}) *dw = memory.Zeros({o.hidden, width});
    ddown_w_ = memory.Zeros({width, o.hidden});
  }
  void Step() {
    runner_.Dot("th,hm->tm", x_, gate_w_, gate_);
    runner_.Dot("th,hm->tm", x_, up_w_, up_);
    runner_.Run("swiglu", {}, {gate_, up_}, {inner_});
    runner_.Dot("tm,mh->th", inner_, down_w_, y_);
    runner_.Dot("tm,th->mh", inner_, dy_, ddown_w_);
    runner_.Dot("th,mh->tm", dy_, down_w_, dinner_);
    runner_.Run("swiglu_grad", {}, {dinner_, gate_, up_}, {dgate_, dup_});
    runner_.Dot("th,tm->hm", x_, dgate_, dgate_w_);
    runner_.Dot("th,tm->hm", x_, dup_, dup_w_);
    runner_.Dot("tm,hm->th", dgate_, gate_w_, dx_);
    runner_.Dot("tm,hm->th", dup_, up_w_, dx_, true);
  }

 private:
  Runner& runner_;
  Tensor x_, dy_, gate_w_, up_w_, down_w_, gate_, up_, inner_, y_;
  Tensor dinner_, dgate_, dup_, dx_, dgate_w_, dup_w_, ddown_w_;
};

// `choices` different experts for every token.
void FillIds(const Options& o, std::mt19937& generator, const Tensor& ids) {
  std::vector<int32_t> experts(o.experts);
  for (int64_t e = 0; e < o.experts; ++e) experts[e] = static_cast<int32_t>(e);
  for (int64_t t = 0; t < o.tokens; ++t) {
    if (!o.even) std::shuffle(experts.begin(), experts.end(), generator);
    for (int64_t c = 0; c < o.choices; ++c) {
      const int64_t i = t * o.choices + c;
      ids.i32()[i] = o.even ? static_cast<int32_t>(i % o.experts) : experts[c];
    }
  }
}

// The same with experts: what expert_mlp expands to on one rank.
class ExpertLayer {
 public:
  ExpertLayer(const Options& o, Memory& memory, Runner& runner) : runner_(runner) {
    const int64_t rows = o.rows();
    plan_attrs_ = {{"thin", int64_t{0}}};
    choices_ = o.choices;
    x_ = memory.Random({1, o.tokens, o.hidden}, 1);
    dy_ = memory.Random({1, o.tokens, o.hidden}, 1);
    weights_ = memory.Random({1, o.tokens, o.choices}, 1);
    ids_ = memory.New(DType::kInt32, {1, o.tokens, o.choices});
    FillIds(o, memory.generator(), ids_);
    for (Tensor* w : {&gate_w_, &up_w_}) *w = memory.Random({o.experts, o.hidden, o.width}, 0.05f);
    down_w_ = memory.Random({o.experts, o.width, o.hidden}, 0.05f);
    source_ = memory.New(DType::kInt32, {1, 1, rows});
    counts_ = memory.New(DType::kInt32, {1, 1, o.experts});
    waves_needed_ = memory.New(DType::kInt32, {});
    for (Tensor* number : {&drops_, &extra_waves_}) *number = memory.New(DType::kFloat64, {});
    for (Tensor* r : {&rows_, &out_, &dout_, &drows_}) *r = memory.Zeros({1, rows, o.hidden});
    for (Tensor* h : {&gate_, &up_, &inner_, &dinner_, &dgate_, &dup_}) {
      *h = memory.Zeros({1, rows, o.width});
    }
    for (Tensor* y : {&y_, &dx_}) *y = memory.Zeros({1, o.tokens, o.hidden});
    dweights_ = memory.Zeros({1, o.tokens, o.choices});
    for (Tensor* dw : {&dgate_w_, &dup_w_}) *dw = memory.Zeros({o.experts, o.hidden, o.width});
    ddown_w_ = memory.Zeros({o.experts, o.width, o.hidden});
  }
  void Step() {
    Forward();
    Backward();
  }
  // The products alone, on the rows of the last step.
  void ForwardProduct() { Multiply(rows_, gate_w_, gate_, false); }
  void TransposedProduct() { Multiply(dgate_, gate_w_, drows_, true); }
  void WeightGradient() { GradOf(rows_, dgate_, dgate_w_); }

 private:
  void Multiply(const Tensor& rows, const Tensor& w, const Tensor& out, bool transposed,
                bool accumulate = false) {
    runner_.Run("grouped_dot", {{"wave", int64_t{0}}, {"transposed", int64_t{transposed}}},
                {rows, w, counts_}, {out}, accumulate);
  }
  void GradOf(const Tensor& rows, const Tensor& dout, const Tensor& dw) {
    runner_.Run("grouped_dot_grad", wave_, {rows, dout, counts_}, {dw});
  }
  void Forward() {
    runner_.Run("dispatch_plan", plan_attrs_, {ids_},
                {source_, counts_, waves_needed_, drops_, extra_waves_});
    runner_.Run("dispatch", {{"wave", int64_t{0}}, {"choices", choices_}}, {x_, source_}, {rows_});
    Multiply(rows_, gate_w_, gate_, false);
    Multiply(rows_, up_w_, up_, false);
    runner_.Run("swiglu", {}, {gate_, up_}, {inner_});
    Multiply(inner_, down_w_, out_, false);
    runner_.Run("combine", wave_, {out_, source_, weights_}, {y_});
  }
  void Backward() {
    runner_.Run("combine_weight_grad", wave_, {dy_, out_, source_, weights_}, {dweights_});
    runner_.Run("combine_grad", wave_, {dy_, source_, weights_}, {dout_});
    GradOf(inner_, dout_, ddown_w_);
    Multiply(dout_, down_w_, dinner_, true);
    runner_.Run("swiglu_grad", {}, {dinner_, gate_, up_}, {dgate_, dup_});
    GradOf(rows_, dgate_, dgate_w_);
    GradOf(rows_, dup_, dup_w_);
    Multiply(dgate_, gate_w_, drows_, true);
    Multiply(dup_, up_w_, drows_, true, true);
    runner_.Run("dispatch_grad", wave_, {drows_, source_, ids_}, {dx_});
  }

  Runner& runner_;
  Attrs plan_attrs_;
  const Attrs wave_ = {{"wave", int64_t{0}}};
  int64_t choices_ = 0;
  Tensor x_, dy_, weights_, ids_, gate_w_, up_w_, down_w_;
  Tensor source_, counts_, waves_needed_, drops_, extra_waves_;
  Tensor rows_, gate_, up_, inner_, out_, y_;
  Tensor dout_, dinner_, dgate_, dup_, drows_, dx_, dweights_, dgate_w_, dup_w_, ddown_w_;
};

// Seconds of single runs.
struct Times {
  std::vector<double> wall, cpu;
};

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void Time(const std::function<void()>& run, Times* times) {
  const auto cpu_seconds = [] {
    timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
  };
  const double cpu = cpu_seconds();
  const auto begin = std::chrono::steady_clock::now();
  run();
  times->wall.push_back(
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  times->cpu.push_back(cpu_seconds() - cpu);
}

// Two ways to do as many FLOPs.
struct Pair {
  const char* name;
  double flops = 0;
  std::function<void()> grouped, dense;
  Times grouped_times = {}, dense_times = {};
};

void Print(const Options& o, const std::vector<Pair>& pairs) {
  std::printf("{\"experts\": %ld, \"choices\": %ld, \"hidden\": %ld, \"width\": %ld, ", o.experts,
              o.choices, o.hidden, o.width);
  std::printf("\"tokens\": %ld, \"threads\": %ld, \"rounds\": %ld", o.tokens, o.threads, o.rounds);
  for (const Pair& pair : pairs) {
    std::vector<double> ratios, cpu_ratios;
    for (size_t i = 0; i < pair.grouped_times.wall.size(); ++i) {
      ratios.push_back(pair.dense_times.wall[i] / pair.grouped_times.wall[i]);
      cpu_ratios.push_back(pair.dense_times.cpu[i] / pair.grouped_times.cpu[i]);
    }
    const double grouped = Median(pair.grouped_times.wall), dense = Median(pair.dense_times.wall);
    std::printf(", \"%s\": {\"seconds\": %.6f, \"dense_seconds\": %.6f, ", pair.name, grouped,
                dense);
    std::printf("\"cpu_seconds\": %.6f, \"dense_cpu_seconds\": %.6f, ",
                Median(pair.grouped_times.cpu), Median(pair.dense_times.cpu));
    std::printf("\"gflops\": %.1f, \"dense_gflops\": %.1f, \"ratio\": %.3f, \"cpu_ratio\": %.3f}",
                pair.flops / grouped * 1e-9, pair.flops / dense * 1e-9, Median(ratios),
                Median(cpu_ratios));
  }
  std::printf("}\n");
}

void RunBench(const Options& o) {
  Memory memory;
  Runner runner(o.threads);
  ExpertLayer experts(o, memory, runner);
  DenseLayer dense(o, memory, runner);
  const Tensor x = memory.Random({o.rows(), o.hidden}, 1);
  const Tensor w = memory.Random({o.hidden, o.width}, 1);
  const Tensor y = memory.Random({o.rows(), o.width}, 1);
  const Tensor dx = memory.Zeros({o.rows(), o.hidden});
  const Tensor dw = memory.Zeros({o.hidden, o.width});
  std::vector<Pair> pairs = {
      {"layer", 9 * o.product_flops(), [&] { experts.Step(); }, [&] { dense.Step(); }},
      {"forward", o.product_flops(), [&] { experts.ForwardProduct(); },
       [&] { runner.Dot("rh,hm->rm", x, w, y); }},
      {"transposed", o.product_flops(), [&] { experts.TransposedProduct(); },
       [&] { runner.Dot("rm,hm->rh", y, w, dx); }},
      {"weight_gradient", o.product_flops(), [&] { experts.WeightGradient(); },
       [&] { runner.Dot("rh,rm->hm", x, y, dw); }}};
  for (int64_t round = 0; round <= o.rounds; ++round) {
    for (Pair& pair : pairs) {
      Times warm_up;
      Time(pair.grouped, round == 0 ? &warm_up : &pair.grouped_times);
      Time(pair.dense, round == 0 ? &warm_up : &pair.dense_times);
    }
  }
  Print(o, pairs);
}

}  // namespace
}  // namespace trireme

int main(int argc, char** argv) {
  trireme::Options options;
  if (!trireme::ParseOptions(argc, argv, &options)) {
    std::fprintf(stderr,
                 "usage: moe_bench [--experts N] [--choices N, at most the experts] [--hidden N] "
                 "[--width N] [--tokens N] [--threads N] [--rounds N] [--even]\n");
    return 2;
  }
  trireme::RunBench(options);
  return 0;
}
