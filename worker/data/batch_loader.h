// Fills a rank's inputs with its rows of each microbatch. Which text a row holds is a pure function
// of (seed, step, row of the global batch), so layouts, microbatches and restarts all see the same
// batches.
#ifndef TRIREME_WORKER_DATA_BATCH_LOADER_H_
#define TRIREME_WORKER_DATA_BATCH_LOADER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/formats/token_file.h"
#include "common/plan/rank_program.h"

namespace trireme {

struct DataConfig {
  std::vector<std::string> paths;  // text files, read one after the other
  std::string tokenizer = "bytes";
  std::string cache_folder;  // of token files; "" = beside the text
};

class BatchLoader {
 public:
  // `program` must outlive the loader. A program without inputs needs no data and opens none.
  // Errors: kNotFound without the text; kInvalidArgument when it is too short for one sequence
  // (naming the tokens needed), when batch sizes do not fit together, or on an input of another
  // name or shape.
  static StatusOr<BatchLoader> Create(const DataConfig& config, const RankProgram& program,
                                      int64_t rank);

  // A MicrobatchSource (worker/executor): inputs[i] receives this rank's part of program.inputs[i]:
  //   tokens, targets (int32), weights (float32; 1), positions (int32; 0, 1, ...), segments (int32;
  //   0).
  // With TrainingRun::zigzag_shards positions stand in the order of common/plan/position_order.h.
  // Positions beyond the sequence length are padding: token, target and weight 0, segment -1.
  // Row r of microbatch m on data rank d of D is sequence d * (B / D) + m * microbatch_size + r of
  // the global batch. Errors: kInvalidArgument on a token that the model's vocabulary does not
  // have.
  Status Fill(int64_t step, int64_t microbatch, const std::vector<void*>& inputs) const;

 private:
  enum class Field { kTokens, kTargets, kWeights, kPositions, kSegments };

  // One input as this rank holds it: a rectangle of [batch, position].
  struct LocalInput {
    Field field = Field::kTokens;
    int64_t first_row = 0, num_rows = 0;
    int64_t first_position = 0, num_positions = 0;
    int64_t length = 0;  // positions of all ranks
  };

  BatchLoader(const DataConfig& config, const RankProgram& program)
      : config_(config), program_(&program) {}

  Status Open();
  Status AddInput(const InputPlacement& input, int64_t rank);
  int64_t SequenceOfRow(int64_t row, int64_t microbatch) const;
  Status FillRow(const LocalInput& input, int64_t window, char* out) const;
  // `count` positions of the sequence from `first` on.
  Status FillPositions(Field field, int64_t window, int64_t first, int64_t count, void* out) const;

  DataConfig config_;
  const RankProgram* program_;
  std::vector<LocalInput> inputs_;
  TokenCorpus corpus_;
  int64_t num_windows_ = 0;
  int64_t vocab_size_ = 0;  // 0 = this stage has no vocabulary
};

}  // namespace trireme

#endif  // TRIREME_WORKER_DATA_BATCH_LOADER_H_
