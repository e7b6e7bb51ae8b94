// Checkpoints of logical tensors. Each rank saves the pieces it owns, without padding; the commit
// checks that together they are every element once and writes the manifest. Loading asks for this
// rank's region, whatever mesh saved it.
//
//   step-0000010/rank-00000.safetensors ...   parameters "<name>", optimizer states
//   "<name>#exp_avg" ... step-0000010/manifest.json                written last
#ifndef TRIREME_WORKER_CHECKPOINT_CHECKPOINT_H_
#define TRIREME_WORKER_CHECKPOINT_CHECKPOINT_H_

#include <cstdint>
#include <string>

#include "common/base/status.h"
#include "worker/executor/executor.h"

namespace trireme {

struct SaveOptions {
  std::string path;  // of the job's checkpoints; the folder "step-..." is made in it
  std::string job;
  int64_t attempt = 0;
  int64_t step = 0;  // steps done
  int64_t tokens_seen = 0;
};

struct SavedCheckpoint {
  std::string folder;
  int64_t bytes = 0;  // of this rank's pieces
};

// Writes this rank's file, synced. Ranks that own nothing write a file without tensors.
// A piece is owned by the rank whose coordinates along the axes that repeat it are all 0; a tied
// tensor by the first stage that holds it. Errors: kUnavailable from the disk.
StatusOr<SavedCheckpoint> SaveCheckpoint(const Executor& executor, const SaveOptions& options);

struct CommitOptions {
  std::string folder;
  int64_t num_ranks = 0;
  int64_t attempt = 0;
  int64_t step = 0;
};

// Reads the headers of all ranks' files, checks that every element is there once, writes the
// manifest. Errors: kFailedPrecondition naming a rank whose file is missing or of another attempt
// or step; kInvalidArgument when pieces overlap or leave something out. On error there is no
// manifest.
Status CommitCheckpoint(const CommitOptions& options);

struct LoadedCheckpoint {
  int64_t step = 0;  // steps done
  int64_t tokens_seen = 0;
};

// Fills this rank's parameters, states and applied_step; padding becomes zero.
// Errors: kNotFound naming a missing tensor, kInvalidArgument naming one of another shape.
StatusOr<LoadedCheckpoint> LoadCheckpoint(const std::string& folder, Executor& executor);

}  // namespace trireme

#endif  // TRIREME_WORKER_CHECKPOINT_CHECKPOINT_H_
