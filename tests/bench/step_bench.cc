// Times whole training steps of a small GPT-2 on one CPU rank: planned, compiled and executed as a
// worker does, with fixed tokens. compare.py runs it beside the same step in PyTorch.
//   step_bench nano|baby|gpt2 [--steps N] [--warmup N] [--threads N] [--profile]
// Prints one JSON line {model, steps, threads, first_loss, loss, step_seconds and cpu_seconds
// (medians of a step), tokens_per_second}; with --profile a table of the processor time in each op,
// from one more step that times every call.
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/math.h"
#include "common/config/fleet.h"
#include "common/config/job_spec.h"
#include "common/plan/rank_program.h"
#include "coordinator/planner/planner.h"
#include "worker/executor/calls.h"
#include "worker/executor/device.h"
#include "worker/executor/executor.h"

namespace trireme {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// Processor time of all threads of this process: what other load on the machine changes least.
double CpuSeconds() {
  timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

struct Shape {
  std::string_view name;
  int64_t layers = 0, heads = 0, width = 0, vocab = 0, max_positions = 0;
  int64_t batch = 0, sequence = 0;
  int steps = 0;  // timed unless --steps says otherwise
};

constexpr Shape kShapes[] = {
    {"nano", 4, 4, 128, 65, 64, 12, 64, 200},
    {"baby", 6, 6, 384, 65, 256, 8, 256, 5},
    {"gpt2", 12, 12, 768, 50257, 1024, 4, 64, 5},
};

struct Options {
  const Shape* shape = nullptr;
  int steps = 0;
  int warmup = 2;
  int threads = 2;
  bool profile = false;
};

std::optional<Options> ParseOptions(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view arg = argv[i];
    const auto number = [&] { return i + 1 < argc ? atoi(argv[++i]) : 0; };
    if (arg == "--profile") {
      options.profile = true;
    } else if (arg == "--steps") {
      options.steps = number();
    } else if (arg == "--warmup") {
      options.warmup = number();
    } else if (arg == "--threads") {
      options.threads = number();
    } else {
      for (const Shape& shape : kShapes) {
        if (shape.name == arg) options.shape = &shape;
      }
      if (options.shape == nullptr || options.shape->name != arg) return std::nullopt;
    }
  }
  if (options.shape == nullptr || options.threads < 1) return std::nullopt;
  if (options.steps < 1) options.steps = options.shape->steps;
  return options;
}

JobSpec MakeJob(const Shape& shape, int64_t steps) {
  JobSpec job{.name = "bench"};
  job.model = {.type = "gpt2",
               .hidden_size = shape.width,
               .intermediate_size = 4 * shape.width,
               .num_hidden_layers = shape.layers,
               .num_attention_heads = shape.heads,
               .num_key_value_heads = shape.heads,
               .head_dim = shape.width / shape.heads,
               .vocab_size = shape.vocab,
               .max_position_embeddings = shape.max_positions,
               .tie_word_embeddings = true};
  job.data.sequence_length = shape.sequence;
  job.train = {.steps = steps, .global_batch_size = shape.batch};
  job.schedule = {.type = "constant", .warmup = {false, 0}};
  return job;
}

StatusOr<RankProgram> MakeProgram(const JobSpec& job) {
  ASSIGN_OR_RETURN(const DeviceKind cpu, FindDeviceKind("cpu"));
  ASSIGN_OR_RETURN(Plan plan, PlanJob(job, {cpu, {{"localhost", 0, 1}}}));
  return RankProgram{.op_table_hash = plan.op_table_hash,
                     .mesh = plan.mesh,
                     .program = std::move(plan.programs[0]),
                     .schedule = std::move(plan.schedules[0]),
                     .run = plan.run,
                     .data_axes = plan.data_axes};
}

// Remembers where the arena is, so that its calls can be timed one by one.
class KnownDevice final : public Device {
 public:
  explicit KnownDevice(int num_threads) : device_(MakeCpuDevice(num_threads)) {}

  StatusOr<char*> Allocate(int64_t bytes) override {
    ASSIGN_OR_RETURN(arena_, device_->Allocate(bytes));
    return arena_;
  }
  void CopyIn(void* to, const void* from, int64_t bytes) override {
    device_->CopyIn(to, from, bytes);
  }
  void CopyOut(void* to, const void* from, int64_t bytes) override {
    device_->CopyOut(to, from, bytes);
  }
  void Copy(void* to, const void* from, int64_t bytes) override { device_->Copy(to, from, bytes); }
  void FillZero(void* to, int64_t bytes) override { device_->FillZero(to, bytes); }
  Stream& stream() override { return device_->stream(); }
  char* arena() const { return arena_; }

 private:
  const std::unique_ptr<Device> device_;
  char* arena_ = nullptr;
};

// The same tokens in every step; the target of a token is the next one.
MicrobatchSource FixedTokens(const StageProgram& program, int64_t vocab, int64_t sequence) {
  return [&program, vocab, sequence](int64_t, int64_t, const std::vector<void*>& inputs) -> Status {
    const auto token = [vocab](int64_t i) { return static_cast<int32_t>(i * 7919 % vocab); };
    for (size_t input = 0; input < inputs.size(); ++input) {
      const std::string& name = program.inputs[input].name;
      int64_t count = 1;
      for (const Dim& dim : program.inputs[input].dims) count *= dim.size;
      int32_t* ints = static_cast<int32_t*>(inputs[input]);
      for (int64_t i = 0; i < count; ++i) {
        if (name == "weights") static_cast<float*>(inputs[input])[i] = 1.0f;
        if (name == "tokens") ints[i] = token(i);
        if (name == "targets") ints[i] = token(i + 1);
        if (name == "positions") ints[i] = static_cast<int32_t>(i % sequence);
        if (name == "segments") ints[i] = 0;
      }
    }
    return absl::OkStatus();
  };
}

struct OpTime {
  std::string op;
  double seconds = 0;
  int64_t calls = 0;
};

// The shapes of a call, as far as they tell one dot from another.
std::string Describe(const Call& call) {
  std::string text = call.code->instructions[call.index].op;
  if (text != "dot") return text;
  text += " " + call.attrs.GetString("equation");
  for (const Tensor& tensor : call.in) {
    text += " ";
    for (const int64_t size : tensor.sizes) text += std::to_string(size) + ",";
    text.pop_back();
  }
  return text;
}

// Runs the calls of one step in order, as the executor does, and adds up the time of each op.
StatusOr<std::vector<OpTime>> ProfileStep(const RankProgram& program, KnownDevice& device) {
  std::map<std::string, OpTime> times;
  Stream& stream = device.stream();
  for (const ScheduleItem& item : program.schedule.items) {
    ASSIGN_OR_RETURN(
        const std::vector<Call> calls,
        BuildCalls(program, item.phase, item.chunk, std::max(item.slot, 0), 0, device.arena()));
    for (const Call& call : calls) {
      if (call.kind != CallKind::kKernel) continue;  // groups of one rank: nothing to do
      const double begin = CpuSeconds();
      call.kernel({stream, call.attrs, call.in, call.out, call.accumulate, call.workspace});
      OpTime& time = times[Describe(call)];
      time.seconds += CpuSeconds() - begin;
      ++time.calls;
    }
  }
  std::vector<OpTime> sorted;
  for (auto& [op, time] : times) sorted.push_back({op, time.seconds, time.calls});
  std::sort(sorted.begin(), sorted.end(),
            [](const OpTime& a, const OpTime& b) { return a.seconds > b.seconds; });
  return sorted;
}

void PrintProfile(const std::vector<OpTime>& times) {
  double total = 0;
  for (const OpTime& time : times) total += time.seconds;
  for (const OpTime& time : times) {
    printf("%9.3f ms %5.1f%% %5lld calls  %s\n", 1e3 * time.seconds, 100 * time.seconds / total,
           static_cast<long long>(time.calls), time.op.c_str());
  }
  printf("%9.3f ms in all calls\n", 1e3 * total);
}

Status Run(const Options& options) {
  const Shape& shape = *options.shape;
  const int64_t num_steps = options.warmup + options.steps;
  ASSIGN_OR_RETURN(const RankProgram program, MakeProgram(MakeJob(shape, num_steps)));
  KnownDevice device(options.threads);
  ASSIGN_OR_RETURN(const auto executor, Executor::Create(program, 0, nullptr, device));
  RETURN_IF_ERROR(executor->Init());
  const MicrobatchSource source = FixedTokens(program.program, shape.vocab, shape.sequence);
  std::vector<double> seconds, cpu_seconds;
  StepResult result;
  double first_loss = 0;
  for (int64_t step = 0; step < num_steps; ++step) {
    const auto begin = Clock::now();
    const double cpu_begin = CpuSeconds();
    ASSIGN_OR_RETURN(result, executor->RunStep(step, source));
    if (step == 0) first_loss = result.loss;
    if (step < options.warmup) continue;
    seconds.push_back(SecondsSince(begin));
    cpu_seconds.push_back(CpuSeconds() - cpu_begin);
  }
  const double median = Median(seconds);
  const double tokens = static_cast<double>(shape.batch * shape.sequence);
  printf(
      "{\"model\": \"%s\", \"steps\": %d, \"threads\": %d, \"first_loss\": %.6f, \"loss\": %.6f, "
      "\"step_seconds\": %.6f, \"cpu_seconds\": %.6f, \"tokens_per_second\": %.1f}\n",
      std::string(shape.name).c_str(), options.steps, options.threads, first_loss, result.loss,
      median, Median(cpu_seconds), tokens / median);
  if (!options.profile) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::vector<OpTime> times, ProfileStep(program, device));
  PrintProfile(times);
  return absl::OkStatus();
}

}  // namespace
}  // namespace trireme

int main(int argc, char** argv) {
  const auto options = trireme::ParseOptions(argc, argv);
  if (!options.has_value()) {
    fprintf(
        stderr,
        "usage: step_bench nano|baby|gpt2 [--steps N] [--warmup N] [--threads N] [--profile]\n");
    return 2;
  }
  const trireme::Status status = trireme::Run(*options);
  if (!status.ok()) fprintf(stderr, "step_bench: %s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
