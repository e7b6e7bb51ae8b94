// Continues a text with a trained model: a forward-only program of one rank, run over the whole
// text for every new token. Simple and slow; a cache of keys and values comes with serving.
#ifndef TRIREME_WORKER_RANK_GENERATE_H_
#define TRIREME_WORKER_RANK_GENERATE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/plan/rank_program.h"

namespace trireme {

struct GenerateOptions {
  std::string checkpoint;  // folder of one step; "" = initial weights, for tests
  std::string tokenizer = "bytes";
  std::string prompt;
  int64_t max_new_tokens = 0;
  double temperature = 1.0;  // 0 = always the likeliest token
  int64_t seed = 0;
  int num_threads = 1;
};

// Calls `sink` with the text of each new token as it comes. The model sees at most the last
// sequence_length tokens. Errors: kInvalidArgument on an empty prompt or a program that is not for
// generation; those of LoadCheckpoint; the sink's.
Status Generate(const GenerateOptions& options, const RankProgram& program,
                const std::function<Status(const std::string& text)>& sink);

// Index drawn from softmax(logits / temperature) with `uniform` in [0, 1); the first maximum when
// temperature is 0. Requires a non-empty list.
int64_t SampleToken(const std::vector<float>& logits, double temperature, double uniform);

// `trireme-worker --generate FILE`: reads a serialized trireme.v1.GenerateRequest, writes the text
// to stdout and errors to stderr. Returns the exit code: 0, or 1.
int RunGenerate(const std::string& request_path);

}  // namespace trireme

#endif  // TRIREME_WORKER_RANK_GENERATE_H_
