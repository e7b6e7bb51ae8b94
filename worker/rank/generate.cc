// The text stands at the start of row 0; what follows it is another segment, so nothing before can
// see it.
#include "worker/rank/generate.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <span>

#include "common/base/math.h"
#include "common/formats/files.h"
#include "common/formats/tokenizer.h"
#include "common/plan/wire.h"
#include "kernels/ops/rule.h"
#include "trireme/v1/rank.pb.h"
#include "worker/checkpoint/checkpoint.h"
#include "worker/executor/device.h"
#include "worker/executor/executor.h"

namespace trireme {
namespace {

constexpr int64_t kMaxRequestBytes = int64_t{1} << 30;

class Generator {
 public:
  Generator(const GenerateOptions& options, const RankProgram& program)
      : options_(options), program_(program) {}

  Status Prepare() {
    const StageProgram& stage = program_.program;
    if (program_.mesh.num_ranks() != 1 || stage.outputs.size() != 1) {
      return InvalidArgument("generation needs a program of one rank with one output; this has " +
                             std::to_string(program_.mesh.num_ranks()) + " ranks and " +
                             std::to_string(stage.outputs.size()) + " outputs");
    }
    for (const InputPlacement& input : stage.inputs) {
      if (input.dims.size() != 2) return InvalidArgument("input " + input.name + " has no rows");
      num_rows_ = input.dims[0].physical();
      num_positions_ = input.dims[1].physical();
      length_ = input.dims[1].size;
    }
    if (num_positions_ == 0) return InvalidArgument("the program has no inputs");
    padded_vocab_ = stage.outputs[0].bytes / 4 / (num_rows_ * num_positions_);
    vocab_size_ = padded_vocab_;
    for (const TensorPlacement& tensor : stage.tensors) {
      const int dim = FindDim(tensor.dims, "vocab");
      if (dim >= 0) vocab_size_ = std::min(vocab_size_, tensor.dims[dim].size);
    }
    if (vocab_size_ < 1) return InvalidArgument("the program's output holds no logits");
    ASSIGN_OR_RETURN(tokenizer_, MakeTokenizer(options_.tokenizer));
    device_ = MakeCpuDevice(options_.num_threads);
    ASSIGN_OR_RETURN(executor_, Executor::Create(program_, 0, nullptr, *device_));
    if (options_.checkpoint.empty()) {
      RETURN_IF_ERROR(executor_->Init());
    } else {
      RETURN_IF_ERROR(LoadCheckpoint(options_.checkpoint, *executor_).status());
    }
    return executor_->RunPhase(Phase::kGather, 0);
  }

  Status Run(const std::function<Status(const std::string&)>& sink) {
    std::vector<int32_t> tokens;
    tokenizer_->Encode(options_.prompt, &tokens);
    if (tokens.empty()) return InvalidArgument("the prompt is empty; give at least one character");
    for (const int32_t token : tokens) {
      if (token < vocab_size_) continue;
      return InvalidArgument("the prompt has token " + std::to_string(token) +
                             " but the model's vocab_size is " + std::to_string(vocab_size_));
    }
    for (int64_t i = 0; i < options_.max_new_tokens; ++i) {
      const int64_t first = std::max<int64_t>(0, static_cast<int64_t>(tokens.size()) - length_);
      ASSIGN_OR_RETURN(const std::vector<float> logits,
                       NextLogits({tokens.begin() + first, tokens.end()}));
      const uint64_t bits = Mix64(Mix64(static_cast<uint64_t>(options_.seed)) + i);
      const double uniform = static_cast<double>(bits >> 11) * 0x1.0p-53;
      const auto token = static_cast<int32_t>(SampleToken(logits, options_.temperature, uniform));
      tokens.push_back(token);
      RETURN_IF_ERROR(sink(tokenizer_->Decode(std::span<const int32_t>(&token, 1))));
    }
    return absl::OkStatus();
  }

 private:
  // Logits of the token after `text`, of vocab_size_ entries.
  StatusOr<std::vector<float>> NextLogits(const std::vector<int32_t>& text) {
    for (const InputPlacement& input : program_.program.inputs) {
      RETURN_IF_ERROR(WriteInput(input, text));
    }
    RETURN_IF_ERROR(executor_->RunPhase(Phase::kForward, 0));
    Place place = program_.program.outputs[0].place;
    place.offset += (static_cast<int64_t>(text.size()) - 1) * padded_vocab_ * 4;
    std::vector<float> logits(vocab_size_);
    executor_->Read(place, 0, logits.data(), vocab_size_ * 4);
    return logits;
  }

  Status WriteInput(const InputPlacement& input, const std::vector<int32_t>& text) {
    const auto n = static_cast<int64_t>(text.size());
    std::vector<int32_t> values(num_rows_ * num_positions_, 0);
    for (int64_t i = 0; i < num_rows_ * num_positions_; ++i) {
      const int64_t position = i % num_positions_;
      const bool real = i < n;  // all of it in row 0
      if (input.name == "tokens" && real) values[i] = text[i];
      if (input.name == "positions") values[i] = static_cast<int32_t>(position);
      if (input.name == "segments") values[i] = real ? 0 : -1;
    }
    executor_->Write({Pool::kInput, input.offset}, 0, values.data(),
                     static_cast<int64_t>(values.size()) * 4);
    return absl::OkStatus();
  }

  const GenerateOptions& options_;
  const RankProgram& program_;
  std::unique_ptr<Tokenizer> tokenizer_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Executor> executor_;
  int64_t num_rows_ = 1;
  int64_t num_positions_ = 0;  // physical
  int64_t length_ = 0;         // logical
  int64_t padded_vocab_ = 0;
  int64_t vocab_size_ = 0;
};

Status GenerateFromFile(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path, kMaxRequestBytes));
  v1::GenerateRequest request;
  if (!request.ParseFromString(bytes)) return InvalidArgument(path + " is no GenerateRequest");
  ASSIGN_OR_RETURN(const RankProgram program,
                   ParseRankProgram(request.program().SerializeAsString(), OpTableHash()));
  if (request.checkpoint().empty()) return InvalidArgument("no checkpoint folder was given");
  const GenerateOptions options = {
      .checkpoint = request.checkpoint(),
      .tokenizer = request.tokenizer().empty() ? "bytes" : request.tokenizer(),
      .prompt = request.prompt(),
      .max_new_tokens = request.max_new_tokens(),
      .temperature = request.temperature(),
      .seed = request.seed(),
      .num_threads = std::max(request.num_threads(), 1)};
  return Generate(options, program, [](const std::string& text) -> Status {
    if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() &&
        std::fflush(stdout) == 0) {
      return absl::OkStatus();
    }
    return Unavailable("standard output is closed");
  });
}

}  // namespace

Status Generate(const GenerateOptions& options, const RankProgram& program,
                const std::function<Status(const std::string& text)>& sink) {
  if (!(options.temperature >= 0) || std::isinf(options.temperature)) {
    return InvalidArgument("temperature " + std::to_string(options.temperature) +
                           " must be 0 or more");
  }
  Generator generator(options, program);
  RETURN_IF_ERROR(generator.Prepare());
  return generator.Run(sink);
}

int64_t SampleToken(const std::vector<float>& logits, double temperature, double uniform) {
  const auto best = std::max_element(logits.begin(), logits.end());
  if (temperature == 0) return best - logits.begin();
  std::vector<double> weights;
  double sum = 0;
  for (const float logit : logits) {
    weights.push_back(std::exp((logit - *best) / temperature));
    sum += weights.back();
  }
  double left = uniform * sum;
  for (size_t i = 0; i < weights.size(); ++i) {
    left -= weights[i];
    if (left < 0) return static_cast<int64_t>(i);
  }
  return best - logits.begin();
}

int RunGenerate(const std::string& request_path) {
  const Status status = GenerateFromFile(request_path);
  if (status.ok()) return 0;
  std::fprintf(stderr, "generate: %s\n", std::string(status.message()).c_str());
  return 1;
}

}  // namespace trireme
