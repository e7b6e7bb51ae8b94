// Row of the microbatch -> sequence of the global batch -> window of the corpus -> tokens.
#include "worker/data/batch_loader.h"

#include <algorithm>
#include <memory>

#include "common/base/check.h"
#include "common/formats/batch_order.h"
#include "common/formats/tokenizer.h"
#include "common/plan/position_order.h"
#include "common/sharding/sharding.h"

namespace trireme {
namespace {

// The logical size of the model's vocab dim as this stage's tensors say it; 0 without one.
int64_t VocabSize(const StageProgram& program) {
  for (const TensorPlacement& tensor : program.tensors) {
    const int dim = FindDim(tensor.dims, "vocab");
    if (dim >= 0) return tensor.dims[dim].size;
  }
  return 0;
}

Status CheckBatch(const TrainingRun& run, const InputPlacement& input) {
  const int64_t rows = input.dims[0].size;
  if (run.microbatch_size >= 1 && rows % run.microbatch_size == 0 &&
      rows * run.num_microbatches == run.global_batch_size) {
    return absl::OkStatus();
  }
  return InvalidArgument(
      "input " + input.name + " has " + std::to_string(rows) +
      " rows a microbatch, which do not fit " + std::to_string(run.num_microbatches) +
      " microbatches of " + std::to_string(run.microbatch_size) +
      " sequences a replica and a global batch of " + std::to_string(run.global_batch_size));
}

}  // namespace

StatusOr<BatchLoader> BatchLoader::Create(const DataConfig& config, const RankProgram& program,
                                          int64_t rank) {
  BatchLoader loader(config, program);
  for (const InputPlacement& input : program.program.inputs) {
    RETURN_IF_ERROR(loader.AddInput(input, rank));
  }
  loader.vocab_size_ = VocabSize(program.program);
  if (!loader.inputs_.empty()) RETURN_IF_ERROR(loader.Open());
  return loader;
}

Status BatchLoader::Open() {
  ASSIGN_OR_RETURN(const std::unique_ptr<Tokenizer> tokenizer, MakeTokenizer(config_.tokenizer));
  ASSIGN_OR_RETURN(corpus_, TokenCorpus::Open(config_.paths, *tokenizer, config_.cache_folder));
  const StatusOr<int64_t> windows = NumWindows(corpus_.size(), program_->run.sequence_length);
  if (!windows.ok()) {
    return Annotate(windows.status(), config_.paths.empty() ? "no text file" : config_.paths[0]);
  }
  num_windows_ = *windows;
  return absl::OkStatus();
}

Status BatchLoader::AddInput(const InputPlacement& input, int64_t rank) {
  LocalInput local;
  constexpr std::pair<std::string_view, Field> kFields[] = {{"tokens", Field::kTokens},
                                                            {"targets", Field::kTargets},
                                                            {"weights", Field::kWeights},
                                                            {"positions", Field::kPositions},
                                                            {"segments", Field::kSegments}};
  const auto* const field =
      std::find_if(std::begin(kFields), std::end(kFields),
                   [&](const auto& entry) { return entry.first == input.name; });
  if (field == std::end(kFields)) {
    return InvalidArgument("the program wants an input '" + input.name +
                           "'; known are tokens, targets, weights, positions and segments");
  }
  local.field = field->second;
  const DType dtype = local.field == Field::kWeights ? DType::kFloat32 : DType::kInt32;
  if (input.dims.size() != 2 || input.dtype != dtype) {
    return InvalidArgument("input " + input.name + " must be [batch, position] of " +
                           std::string(Name(dtype)) + ", the program has " + ToText(input.dims) +
                           " of " + std::string(Name(input.dtype)));
  }
  RETURN_IF_ERROR(CheckBatch(program_->run, input));
  const std::vector<int64_t> sizes = LocalSizes(program_->mesh, input.dims, input.sharding);
  const std::vector<int64_t> start = LocalStart(program_->mesh, input.dims, input.sharding, rank);
  local.first_row = start[0];
  local.num_rows = sizes[0];
  local.first_position = start[1];
  local.num_positions = sizes[1];
  local.length = input.dims[1].physical();
  inputs_.push_back(local);
  return absl::OkStatus();
}

int64_t BatchLoader::SequenceOfRow(int64_t row, int64_t microbatch) const {
  const TrainingRun& run = program_->run;
  const int64_t data_rank = row / run.microbatch_size;
  return data_rank * run.num_microbatches * run.microbatch_size + microbatch * run.microbatch_size +
         row % run.microbatch_size;
}

Status BatchLoader::Fill(int64_t step, int64_t microbatch, const std::vector<void*>& inputs) const {
  CHECK_EQ(inputs.size(), inputs_.size());
  const TrainingRun& run = program_->run;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const LocalInput& input = inputs_[i];
    for (int64_t r = 0; r < input.num_rows; ++r) {
      const int64_t sequence = SequenceOfRow(input.first_row + r, microbatch);
      const int64_t window =
          WindowAt(run.seed, step, sequence, run.global_batch_size, num_windows_);
      char* const row = static_cast<char*>(inputs[i]) + r * input.num_positions * 4;
      RETURN_IF_ERROR(FillRow(input, window, row));
    }
  }
  return absl::OkStatus();
}

Status BatchLoader::FillRow(const LocalInput& input, int64_t window, char* out) const {
  const int64_t shards = program_->run.zigzag_shards;
  const int64_t piece = shards > 1 ? input.length / (2 * shards) : input.length;
  const int64_t end = input.first_position + input.num_positions;
  for (int64_t index = input.first_position; index < end;) {
    const int64_t count = std::min(end, (index / piece + 1) * piece) - index;
    RETURN_IF_ERROR(FillPositions(input.field, window, PositionAt(index, input.length, shards),
                                  count, out + (index - input.first_position) * 4));
    index += count;
  }
  return absl::OkStatus();
}

Status BatchLoader::FillPositions(Field field, int64_t window, int64_t first, int64_t count,
                                  void* out) const {
  const int64_t length = program_->run.sequence_length;
  const int64_t real = std::clamp<int64_t>(length - first, 0, count);  // what follows is padding
  auto* const ints = static_cast<int32_t*>(out);
  auto* const floats = static_cast<float*>(out);
  switch (field) {
    case Field::kTokens:
    case Field::kTargets: {
      const int64_t shift = field == Field::kTargets ? 1 : 0;
      const int64_t start = window * length + first + shift;
      if (real > 0) corpus_.Read(start, real, ints);
      std::fill(ints + real, ints + count, 0);
      const auto bad = std::find_if(ints, ints + real, [this](int32_t token) {
        return token < 0 || (vocab_size_ > 0 && token >= vocab_size_);
      });
      if (bad == ints + real) return absl::OkStatus();
      return InvalidArgument("token " + std::to_string(start + (bad - ints)) +
                             " of the data has id " + std::to_string(*bad) +
                             " but the model's vocab_size is " + std::to_string(vocab_size_) +
                             "; raise model.vocab_size or choose another tokenizer");
    }
    case Field::kWeights:
      std::fill(floats, floats + real, 1.0f);
      std::fill(floats + real, floats + count, 0.0f);
      break;
    case Field::kPositions:
      for (int64_t p = 0; p < count; ++p) ints[p] = static_cast<int32_t>(first + p);
      break;
    case Field::kSegments:
      std::fill(ints, ints + real, 0);
      std::fill(ints + real, ints + count, -1);
      break;
  }
  return absl::OkStatus();
}

}  // namespace trireme
